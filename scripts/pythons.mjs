// pythons.mjs PYODIDE WHEEL SCRIPT WHEEL…: runs the command line of a wheel in the Python of a Pyodide, over a training script.
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, wheel, script, ...others] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: resolve(pyodide) + "/" });
for (const file of [wheel, ...others]) python.FS.writeFile(`/tmp/${basename(file)}`, readFileSync(file));
python.FS.writeFile("/tmp/train.py", readFileSync(script));
console.log(
    python.runPython(`
import contextlib, glob, io, os, sys, zipfile

for wheel in glob.glob("/tmp/*.whl"):
    zipfile.ZipFile(wheel).extractall("/site")
sys.path.insert(0, "/site")
os.chdir("/tmp")
from horovodize.cli import main


def run(status, *arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            found = main(arguments)
        except SystemExit as e:
            found = e.code
    assert found == status, (arguments, found, err.getvalue())
    return out.getvalue()


run(0, "--version")
run(0, "check", "train.py")
run(0, "check", "--format", "sarif", "train.py")
run(0, "summary", "train.py")
run(0, "explain", "HVD203")
run(1, "distribute", "--check", "/tmp")
run(0, "generate-shell-completion", "bash")
text = run(0, "distribute", "train.py", "--format", "text", "--tensorflow", "2.15")
compile(text, "train.py", "exec")
assert "hvd.init()" in text
with open("/tmp/pyproject.toml", "w") as file:
    file.write("[tool.horovodize]\\nsplit-data = false\\n")
assert run(0, "distribute", "train.py", "--format", "text", "--tensorflow", "2.15") != text
"Python " + sys.version.split()[0] + ": the wheel works"
`),
);
