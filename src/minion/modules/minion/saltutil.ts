/** Execution module `saltutil`: the minion's jobs, refreshes and caches. Source: Salt 3007's `saltutil`, docs/functions.md. */

import { readdirSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue, numberOf } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { wholeNumber } from "../../functions/number-words.ts";
import { openIdentity } from "../../session/identity.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, ownKeywords, refuseKeywords, signature } from "../declare/signature.ts";
import { refreshGrains } from "../grains/store.ts";
import { clearDirectory } from "../machine/clear-directory.ts";
import { isFileError } from "../machine/file-error.ts";
import { awaitPillarRefresh } from "./saltutil-refresh.ts";
import { syncFunctions } from "./saltutil-sync.ts";

const { SIGKILL, SIGTERM } = constants.signals;

const jobFunctions: ModuleFunctions = {
  "saltutil.running": {
    ...signature(""),
    doc: describe("The jobs that run on this minion now, without this one.", "saltutil.running"),
    run: (context) => context.runningJobs(),
  },
  "saltutil.is_running": {
    ...signature("fun"),
    doc: describe("The running jobs whose function is this one or matches a glob.", "saltutil.is_running 'state.*'"),
    run: async (context, args) => {
      const glob = compileGlob(strOf(argument(args, "fun")));
      return (await context.runningJobs()).filter((job) => glob.matches(strOf(job.get("fun") ?? "")));
    },
  },
  "saltutil.find_job": {
    ...signature("jid"),
    doc: describe(
      "The running job of that id, an empty map if it does not run.",
      "saltutil.find_job 20261120155014383034",
    ),
    run: async (context, args) => {
      const jid = strOf(argument(args, "jid"));
      const found = (await context.runningJobs()).find((job) => job.get("jid") === jid);
      return found ?? new Map<Value, Value>();
    },
  },
  "saltutil.signal_job": {
    ...signature("jid, sig"),
    doc: describe("Sends a signal to the processes of a running job.", "saltutil.signal_job 20261120155014383034 15"),
    run: (context, args) => context.signalJob(strOf(argument(args, "jid")), wholeNumber(argument(args, "sig"))),
  },
  "saltutil.term_job": signalFunction("Ends a running job with SIGTERM.", "term_job", SIGTERM),
  "saltutil.kill_job": signalFunction("Ends a running job with SIGKILL.", "kill_job", SIGKILL),
  "saltutil.term_all_jobs": signalAllFunction("Ends all running jobs with SIGTERM.", "term_all_jobs", SIGTERM),
  "saltutil.kill_all_jobs": signalAllFunction("Ends all running jobs with SIGKILL.", "kill_all_jobs", SIGKILL),
  "saltutil.find_cached_job": {
    ...signature("jid"),
    doc: describe(
      "The result of a job from this minion's own cache. This minion does not have such a cache; the master keeps results.",
      "saltutil.find_cached_job 20261120155014383034",
    ),
    run: ({ config }, args) => {
      if (!config.cache_jobs)
        return "Local jobs cache directory not found; you may need to enable cache_jobs on this minion";
      const directory = join(config.cachedir, "minion_jobs", strOf(argument(args, "jid")));
      return `Local jobs cache directory ${directory} not found`;
    },
  },
};

function signalFunction(text: string, name: string, signal: number): ModuleFunction {
  return {
    ...signature("jid"),
    doc: describe(text, `saltutil.${name} 20261120155014383034`),
    run: (context, args) => context.signalJob(strOf(argument(args, "jid")), signal),
  };
}

function signalAllFunction(text: string, name: string, signal: number): ModuleFunction {
  return {
    ...signature(""),
    doc: describe(text, `saltutil.${name}`),
    run: async (context) => {
      const texts: string[] = [];
      for (const job of await context.runningJobs()) {
        texts.push(await context.signalJob(strOf(job.get("jid") ?? ""), signal));
      }
      return texts;
    },
  };
}

const refreshPillarFunction: ModuleFunction = {
  ...signature("wait=False, timeout=30, clean_cache=True"),
  pythonName: "refresh_pillar",
  doc: describe(
    "Makes the minion renew its grains and ask the master for its pillar. `wait` returns when the pillar has arrived, or after `timeout` seconds.",
    "saltutil.refresh_pillar",
    "saltutil.refresh_pillar wait=True timeout=60",
  ),
  run: refreshPillar,
};

async function refreshPillar(context: CallContext, args: BoundArguments): Promise<boolean> {
  const fire = () => context.fireMinion("pillar_refresh", { clean_cache: isTrue(argument(args, "clean_cache")) });
  if (!isTrue(argument(args, "wait"))) {
    await fire();
    return true;
  }
  const seconds = numberOf(argument(args, "timeout")) ?? 30;
  const isComplete = await awaitPillarRefresh(context.config, fire, seconds * 1_000);
  if (!isComplete) context.log.warn(`Pillar refresh did not complete within timeout ${seconds}`);
  return true;
}

const refreshFunctions: ModuleFunctions = {
  "saltutil.refresh_pillar": refreshPillarFunction,
  "saltutil.pillar_refresh": refreshPillarFunction,
  "saltutil.refresh_modules": {
    ...signature("**kwargs"),
    doc: describe("Makes the minion load its functions again.", "saltutil.refresh_modules"),
    run: async (context) => {
      await context.fireMinion("module_refresh", {});
      return true;
    },
  },
  "saltutil.refresh_grains": {
    ...signature("**kwargs"),
    doc: describe(
      "Makes the minion collect its grains again, and ask for its pillar unless `refresh_pillar=False`.",
      "saltutil.refresh_grains",
    ),
    run: async (context, args) => {
      const keywords = ownKeywords(args);
      const refreshesPillar = isTrue(keywords.get("refresh_pillar") ?? true);
      keywords.delete("refresh_pillar");
      keywords.delete("clean_pillar_cache");
      refuseKeywords(keywords);
      await refreshGrains(context, refreshesPillar);
      return true;
    },
  },
  "saltutil.clear_cache": {
    ...signature(""),
    doc: describe("Removes every file of the minion's cache directory.", "saltutil.clear_cache"),
    run: ({ config, log }) => clearDirectory(config.cachedir, log),
  },
  "saltutil.regen_keys": {
    ...signature(""),
    doc: describe(
      "Removes this minion's keys and the master's key that it trusts, and makes new keys, which the master must accept.",
      "saltutil.regen_keys",
    ),
    run: async ({ config, log }) => {
      for (const entry of readdirSync(config.pki_dir, { withFileTypes: true })) {
        if (entry.isDirectory()) continue;
        try {
          rmSync(join(config.pki_dir, entry.name));
        } catch (error) {
          if (!isFileError(error)) throw error;
          log.error(`A key file could not be removed: ${error.message}`);
        }
      }
      await openIdentity(config);
      return null;
    },
  },
  "saltutil.revoke_auth": {
    ...signature("preserve_minion_cache=False"),
    doc: describe("Makes the master delete this minion's key.", "saltutil.revoke_auth"),
    run: async (context, args) => {
      const isKept = isTrue(argument(args, "preserve_minion_cache"));
      await context.masterRequest({ cmd: "revoke_auth", preserve_minion_cache: isKept });
      return true;
    },
  },
};

export const saltutilModule: ModuleFunctions = { ...jobFunctions, ...refreshFunctions, ...syncFunctions };
