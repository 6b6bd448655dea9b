// Chromium, without a window.

import { chromium, type Browser } from "playwright-core";

import { CHROMIUM, needed } from "./places";

export async function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: needed(CHROMIUM, "run scripts/code-server.sh"),
    args: [
      "--no-sandbox", // as root there is no other way; the page is our own
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-dev-shm-usage",
      "--disable-gpu",
      "--disable-quic",
      "--disable-sync",
      "--font-render-hinting=none",
      "--no-first-run",
    ],
  });
}
