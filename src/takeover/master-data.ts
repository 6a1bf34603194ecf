/** What becomes of keys, minions' data, jobs and tokens that a Salt master left. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { entriesIfThere, namesIn } from "../config/files/missing.ts";
import type { MasterConfig } from "../config/load.ts";
import { keyFolders, keyStates } from "../store/keys/states.ts";
import { findSaltFiles, findSaltPrograms } from "../store/salt/detect.ts";
import { SaltJobWalk } from "../store/salt/walk-jobs.ts";
import { tokenDirectory } from "../store/secrets/tokens.ts";
import { type Finding, looked } from "./finding.ts";

export function keyFindings({ pki_dir: pkiDir }: MasterConfig): readonly Finding[] {
  return looked("keys", pkiDir, () => {
    const counts = keyStates.map((state) => `${namesIn(join(pkiDir, keyFolders[state])).length} ${state}`);
    const hasKey = existsSync(join(pkiDir, "master.pem"));
    const master: Finding = hasKey
      ? { verdict: "kept", name: "master.pem", place: pkiDir, about: "minions go on trusting this master" }
      : {
          ...({ verdict: "changed", name: "master.pem", place: pkiDir } as const),
          about: "there is none, so a new pair is made; minions of a former master refuse it",
        };
    return [master, { verdict: "kept", name: "minions' keys", place: pkiDir, about: counts.join(", ") }];
  });
}

/** Of the cache directory. */
export function dataFindings(config: MasterConfig): readonly Finding[] {
  const { cachedir } = config;
  return [
    ...looked("minions' data", cachedir, () => {
      const ids = new Set([...foldersIn(join(cachedir, "minions")), ...namesOf(join(cachedir, "grains"), ".p")]);
      const about = `grains, pillars and mines of ${ids.size} minions are read at the start`;
      return [{ verdict: "kept", name: "minions' data", place: cachedir, about }];
    }),
    ...looked("jobs", cachedir, () => {
      const about = `${new SaltJobWalk(cachedir).jobCount()} jobs in Salt's local_cache are found from the start`;
      return [{ verdict: "kept", name: "jobs", place: join(cachedir, "jobs"), about }];
    }),
    ...tokenFindings(config),
    ...syndicFindings(config),
    ...queueFindings(config),
  ];
}

function tokenFindings({ cachedir }: MasterConfig): readonly Finding[] {
  const place = tokenDirectory(cachedir);
  return looked("tokens", place, () => {
    const count = namesIn(place).length;
    if (count === 0) return [];
    const about = `${count} stay good, but are rewritten as digests, which a Salt master does not read`;
    return [{ verdict: "changed", name: "tokens", place, about }];
  });
}

function syndicFindings({ cachedir, order_masters: isOrdering }: MasterConfig): readonly Finding[] {
  const place = join(cachedir, "syndics");
  return looked("syndics", place, () =>
    namesIn(place).map((name) => {
      const about = "a master below this one (salt-syndic), whose minions are reached through it";
      if (isOrdering) return { verdict: "kept", name, place, about } as const;
      return { verdict: "lost", name, place, about: `${about} only with order_masters, which is off` } as const;
    }),
  );
}

function queueFindings(config: MasterConfig): readonly Finding[] {
  const place = config.sqlite_queue_dir;
  return looked("queues", place, () =>
    namesOf(place, ".db").map((name) => ({
      ...({ verdict: "kept", name, place } as const),
      about: "a queue of the runner `queue`; both masters use the same file",
    })),
  );
}

/** Whether a Salt master that is started again finds what ours has done. `path`: folders to search for Salt's programs, as in PATH. */
export function wayBackFindings(config: MasterConfig, path: string): readonly Finding[] {
  const { salt_files: written, cachedir, master_job_cache: driver } = config;
  return looked("salt_files", cachedir, () => {
    const found = [...findSaltPrograms(path), ...findSaltFiles(cachedir)];
    const isAsked = written === "always" || driver === "local_cache";
    if (written !== "never" && (isAsked || found.length > 0)) {
      const because = found.length > 0 ? `, because there is ${found.join(", ")}` : "";
      return [{ verdict: "kept", name: "salt_files", about: `Salt's own files stay current${because}` }];
    }
    const about = `${written}: what this master stores is not written into Salt's own files; salt_files: always writes it`;
    return [{ verdict: "changed", name: "salt_files", about }];
  });
}

function foldersIn(directory: string): readonly string[] {
  return entriesIfThere(directory)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function namesOf(directory: string, ending: string): readonly string[] {
  return namesIn(directory).flatMap((name) => (name.endsWith(ending) ? [name.slice(0, -ending.length)] : []));
}
