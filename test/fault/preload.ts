/** Compiles one of the C libraries beside this file, to be preloaded into a program under test. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";

/** The reason why a test with a preloaded library is skipped here; false if it must run. */
export function compilerSkip(): string | false {
  if (process.env.CI === "true") return false;
  return spawnSync("cc", ["--version"]).status === 0 ? false : "there is no C compiler (cc)";
}

/** @returns the path of the library, in `directory` */
export function compileLibrary(name: string, directory: string): string {
  const library = join(directory, `${name}.so`);
  const source = join(repositoryRoot, "test", "fault", `${name}.c`);
  const args = ["-O1", "-Wall", "-shared", "-fPIC", "-o", library, source, "-ldl", "-pthread"];
  const { status, stderr } = spawnSync("cc", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`cc ${args.join(" ")}: ${stderr}`);
  return library;
}
