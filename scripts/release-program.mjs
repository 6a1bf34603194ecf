// Keeps the program of a former release for tests that run it beside this one: `node scripts/release-program.mjs COMMIT [--to DIR]`.
// Builds the commit's tree with the packages that are installed here, and packs its compiled program into saltworks-VERSION.tar.br below test/releases.
// The same commit and packages make the same bytes: names are sorted, times and owners are zero. Prints the file's size and SHA-256.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants } from "node:zlib";
import { pack } from "tar-stream";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Without source maps, tests and benches. */
const parts = ["package.json", "bin", "dist/src", "dist/dashboard"];
const windowBits = 24;
const outputBytesMax = 256 * 1024 * 1024;

function run(command, args, options) {
  const done = spawnSync(command, args, { maxBuffer: outputBytesMax, stdio: ["pipe", "pipe", "inherit"], ...options });
  if (done.error) throw done.error;
  if (done.status !== 0) process.exit(done.status ?? 1);
  return done.stdout;
}

function filesBelow(path) {
  if (!statSync(path).isDirectory()) return path.endsWith(".map") ? [] : [path];
  return readdirSync(path).flatMap((name) => filesBelow(join(path, name)));
}

async function packed(folder) {
  const tar = pack();
  const files = parts.flatMap((part) => filesBelow(join(folder, part)));
  const names = files.map((file) => relative(folder, file)).sort();
  for (const name of names) {
    const mode = name.startsWith("bin/") ? 0o755 : 0o644;
    tar.entry({ name, mode, mtime: new Date(0), uid: 0, gid: 0 }, readFileSync(join(folder, name)));
  }
  tar.finalize();
  const chunks = [];
  for await (const chunk of tar) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { to: { type: "string" } } });
const [commit] = positionals;
if (commit === undefined || positionals.length > 1) {
  process.stderr.write("usage: node scripts/release-program.mjs COMMIT [--to DIR]\n");
  process.exit(64);
}
const folder = mkdtempSync(join(tmpdir(), "saltworks-release-"));
try {
  run("tar", ["-x", "-C", folder], { input: run("git", ["-C", root, "archive", commit], {}) });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  run(process.execPath, [join(folder, "scripts", "build.mjs")], {});
  const tar = await packed(folder);
  const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_LGWIN]: windowBits, [BROTLI_PARAM_SIZE_HINT]: tar.byteLength };
  const bytes = brotliCompressSync(tar, { params });
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const to = values.to ?? join(root, "test", "releases");
  mkdirSync(to, { recursive: true });
  const file = join(to, `saltworks-${version}.tar.br`);
  writeFileSync(file, bytes);
  const hash = createHash("sha256").update(bytes).digest("hex");
  process.stdout.write(`${relative(root, file)}: ${bytes.byteLength} bytes, SHA-256 ${hash}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
