// Compiles the tree into dist/ from scratch, so that no output of a deleted source stays behind. The dashboard's pages, which run in a browser, are
// checked with the browser's types and then bundled into dist/dashboard. The sidecar's programs in Python are copied.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const pages = `${root}src/api/dashboard`;

function compile(project) {
  const tsc = spawnSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", project], {
    stdio: "inherit",
  });
  if (tsc.status !== 0) process.exit(tsc.status ?? 1);
}

rmSync(`${root}dist`, { recursive: true, force: true });
compile(root);
compile(pages);
await build({
  entryPoints: [`${pages}/main.tsx`, `${pages}/styles.css`],
  outdir: `${root}dist/dashboard`,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2023",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
mkdirSync(`${root}dist/dashboard`, { recursive: true });
for (const name of ["page.html", "icon.svg"]) copyFileSync(`${pages}/${name}`, `${root}dist/dashboard/${name}`);
// Python's own cache of compiled modules stays behind.
const isSource = (path) => !path.includes("__pycache__");
cpSync(`${root}src/sidecar/program`, `${root}dist/src/sidecar/program`, { recursive: true, filter: isSource });
