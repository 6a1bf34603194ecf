// Makes `npm start` and `npm test` work without other commands: installs if the lock file is newer, builds if a source is newer.
// Install scripts are off in this project, so `prestart` and `pretest` hooks would not run; this file stands in for them.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

function modifiedMs(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

function newestMs(folder) {
  let newest = modifiedMs(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    newest = Math.max(newest, entry.isDirectory() ? newestMs(path) : modifiedMs(path));
  }
  return newest;
}

function run(command, args) {
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (done.error) throw done.error;
  if (done.status !== 0) process.exit(done.status ?? 1);
}

const installStamp = join(root, "node_modules", ".package-lock.json");
const lockMs = Math.max(modifiedMs(join(root, "package-lock.json")), modifiedMs(join(root, "package.json")));
if (modifiedMs(installStamp) < lockMs) {
  // `npm ci` fails where a registry lacks other platforms' optional binaries; `install` keeps to the committed lock.
  run("npm", ["install", "--no-save", "--loglevel=error"]);
  writeFileSync(join(root, "node_modules", ".package-lock.json"), "", { flag: "a" });
}

const buildStamp = join(root, "dist", ".built");
const sourcesMs = Math.max(
  ...["src", "test", "bench", "scripts", "tsconfig.json"].map((name) => {
    const path = join(root, name);
    return existsSync(path) && statSync(path).isDirectory() ? newestMs(path) : modifiedMs(path);
  }),
);
if (modifiedMs(buildStamp) < sourcesMs) {
  run(process.execPath, [join(root, "scripts", "build.mjs")]);
  writeFileSync(buildStamp, "");
}
