/** Finds out whether Salt is or was on this machine: looks for its programs, and for files of its master in the cache directory. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { entriesIfThere } from "../../config/files/missing.ts";
import { returnFile } from "./job-files.ts";

const programs = ["salt-master", "salt-run"] as const;
/** The folder of the programs in Salt's own packages. It may be missing in PATH. */
const packageFolder = "/opt/saltstack/salt";
/** Bound of the job directories that are searched for a return. A Salt master stores returns of nearly all of its jobs. */
const jobsLookedAt = 256;

/** @param path folders, as in PATH. @returns the paths of the found programs */
export function findSaltPrograms(path: string): string[] {
  const folders = [...path.split(delimiter).filter((folder) => folder !== ""), packageFolder];
  return [...new Set(folders)].flatMap((folder) =>
    programs.map((program) => join(folder, program)).filter((file) => existsSync(file)),
  );
}

/** For a cache directory that only a Salt master has used. @returns texts for the log about the found files */
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
