// Writes media/icon.png (256 × 256) from media/icon.svg.

import { readFileSync, writeFileSync } from "node:fs";
import { Resvg } from "@resvg/resvg-js";

const image = new Resvg(readFileSync("media/icon.svg", "utf8"), { fitTo: { mode: "width", value: 256 } }).render();
writeFileSync("media/icon.png", image.asPng());
