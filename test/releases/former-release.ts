/** The program of the release before this one, unpacked for tests that run it beside this one's. scripts/release-program.mjs packs it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { brotliDecompressSync } from "node:zlib";
import { extract } from "tar-stream";
import { repositoryRoot } from "../root.ts";

export const formerVersion = "0.1.0";

export type FormerRelease = {
  /** The command line's program, for Node.js. */
  readonly cliFile: string;
  remove(): void;
};

/** Unpacks it into a temporary directory. Its packages are the repository's. Neither git nor tar is needed. */
export async function unpackFormerRelease(): Promise<FormerRelease> {
  const packed = readFileSync(join(repositoryRoot, "test", "releases", `saltworks-${formerVersion}.tar.br`));
  const folder = mkdtempSync(join(tmpdir(), "saltworks-former-"));
  const unpack = extract();
  unpack.on("entry", ({ name, mode }, stream, next) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, Buffer.concat(chunks), mode === undefined ? {} : { mode });
      next();
    });
  });
  await pipeline(Readable.from([brotliDecompressSync(packed)]), unpack);
  symlinkSync(join(repositoryRoot, "node_modules"), join(folder, "node_modules"));
  return {
    cliFile: join(folder, "dist", "src", "cli", "main.js"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
