// Compiles the tree into dist/ from scratch, so that no output of a deleted source stays behind.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}dist`, { recursive: true, force: true });
const tsc = spawnSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", root], { stdio: "inherit" });
process.exit(tsc.status ?? 1);
