/** Tells whether Salt is on this machine or was here: its programs, or what its master left in the cache directory. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { entriesIfThere } from "../../config/files/missing.ts";
import { returnFile } from "./job-files.ts";

const programs = ["salt-master", "salt-run"] as const;
/** Where Salt's own packages put its programs. PATH need not name it. */
const packageFolder = "/opt/saltstack/salt";
/** Job directories looked into for a return: a Salt master keeps nearly all of its jobs' returns. */
const jobsLookedAt = 256;

/** @param path folders, as in PATH. @returns what was found, in words for the log */
export function findSaltPrograms(path: string): string[] {
  const folders = [...path.split(delimiter).filter((folder) => folder !== ""), packageFolder];
  return [...new Set(folders)].flatMap((folder) =>
    programs.map((program) => join(folder, program)).filter((file) => existsSync(file)),
  );
}

/** For a cache directory that only a Salt master has used. @returns what was found, in words for the log */
export function findSaltFiles(cachedir: string): string[] {
  const minions = foldersIn(join(cachedir, "minions")).find((id) =>
    ["data.p", "mine.p"].some((name) => existsSync(join(cachedir, "minions", id, name))),
  );
  const grains = entriesIfThere(join(cachedir, "grains")).some(({ name }) => name.endsWith(".p"));
  return [
    ...(minions === undefined ? [] : [`minions' data in ${join(cachedir, "minions")}`]),
    ...(grains ? [`minions' data in ${join(cachedir, "grains")}`] : []),
    ...(hasReturns(join(cachedir, "jobs")) ? [`jobs in ${join(cachedir, "jobs")}`] : []),
  ];
}

function hasReturns(jobs: string): boolean {
  let looked = 0;
  for (const head of foldersIn(jobs)) {
    for (const rest of foldersIn(join(jobs, head))) {
      const job = join(jobs, head, rest);
      if (foldersIn(job).some((id) => existsSync(join(job, id, returnFile)))) return true;
      looked += 1;
      if (looked >= jobsLookedAt) return false;
    }
  }
  return false;
}

function foldersIn(directory: string): string[] {
  return entriesIfThere(directory)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name);
}
