import js from "@eslint/js";
import tseslint from "typescript-eslint";

// node:test waits for the tests that a file has begun.
const tests = { from: "package", package: "node:test", name: ["test", "suite", "describe", "it"] };

export default tseslint.config(
  { ignores: ["build/", "dist/"] },
  js.configs.recommended,
  { files: ["*.mjs"], languageOptions: { globals: { process: "readonly", console: "readonly" } } },
  {
    files: ["src/**/*.ts", "test/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: { "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [tests] }] },
  },
);
