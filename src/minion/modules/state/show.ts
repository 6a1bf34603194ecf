/** `state.show_*`: what a state run would execute, without running it. Source: Salt 3007's `state`, docs/functions.md. */
import { strOf } from "../../../python/repr.ts";
import { lowChunks, lowState } from "../../../states/compile/low-chunks.ts";
import { topFaults } from "../../../states/compile/top.ts";
import { faultsOf } from "../../../states/compile/verify.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import {
  checkPillar,
  compileFiles,
  compileTop,
  conflicts,
  keywordsOf,
  matchesOf,
  namesIn,
  openRun,
  type Run,
  stateCodes,
  topOf,
} from "./run.ts";

type Show = (run: Run, args: BoundArguments) => Promise<Encodable>;

function shows(about: string, example: string, parameters: string, show: Show): ModuleFunction {
  return {
    ...signature(parameters),
    doc: describe(about, example),
    run: async (context, args) => {
      const keywords = keywordsOf(args);
      const busy = await conflicts(context, args);
      if (busy.length > 0) return busy;
      const run = await openRun(context, keywords, parameters.includes("mods"));
      checkPillar(run);
      return await show(run, args);
    },
  };
}

const ofTop = "queue=None, **kwargs";
const ofFiles = "mods, test=None, queue=None, **kwargs";

/** A list of Salt's sentences, with the retcode of a failed compilation. */
function failed(context: CallContext, errors: readonly string[]): readonly string[] {
  context.setRetcode(stateCodes.compilerError);
  return errors;
}

async function showHighstate(run: Run): Promise<Encodable> {
  const { high } = await compileTop(run);
  if (high.errors.length > 0) return failed(run.context, high.errors);
  if (high.value.size === 0) run.context.setRetcode(stateCodes.failure);
  return high.value;
}

async function showLowstate(run: Run): Promise<readonly Encodable[]> {
  const { high } = await compileTop(run);
  const low = lowState(high.value, false);
  const errors = [...high.errors, ...low.errors];
  return errors.length > 0 ? errors : low.value;
}

async function showSls(run: Run, args: BoundArguments): Promise<Encodable> {
  const high = await compileFiles(run, argument(args, "mods"));
  const errors = [...high.errors, ...faultsOf(high.value)];
  return errors.length > 0 ? failed(run.context, errors) : high.value;
}

async function showLowSls(run: Run, args: BoundArguments): Promise<readonly Encodable[]> {
  const high = await compileFiles(run, argument(args, "mods"));
  const errors = [...high.errors, ...faultsOf(high.value)];
  return errors.length > 0 ? failed(run.context, errors) : lowChunks(high.value);
}

async function showTop(run: Run): Promise<Encodable> {
  const top = await topOf(run);
  const errors = topFaults(top);
  return errors.length > 0 ? failed(run.context, errors) : await matchesOf(run, top);
}

async function showStates(run: Run): Promise<Encodable> {
  const low = await showLowstate(run);
  const names = new Set<Encodable>();
  for (const chunk of low) {
    if (!(chunk instanceof Map))
      return failed(
        run.context,
        low.map((text) => strOf(text as Value)),
      );
    names.add(chunk.get("__sls__") ?? null);
  }
  return [...names];
}

export const showFunctions: ModuleFunctions = {
  "state.show_highstate": shows(
    "The states of the top files as high data.",
    "state.show_highstate",
    ofTop,
    showHighstate,
  ),
  "state.show_lowstate": shows(
    "The states of the top files as low chunks, in the order in which they run.",
    "state.show_lowstate",
    ofTop,
    showLowstate,
  ),
  "state.show_low_sls": shows("The low chunks of SLS files.", "state.show_low_sls core,edit.vim", ofFiles, showLowSls),
  "state.show_sls": shows("The high data of SLS files.", "state.show_sls core,edit.vim saltenv=dev", ofFiles, showSls),
  "state.show_states": shows(
    "The names of the SLS files that a highstate runs.",
    "state.show_states",
    ofTop,
    showStates,
  ),
  "state.show_top": shows("The SLS files that the top files give this minion.", "state.show_top", ofTop, showTop),
  "state.sls_exists": shows(
    "Whether SLS files exist and can be compiled.",
    "state.sls_exists core,edit.vim",
    ofFiles,
    async (run, args) => (await showSls(run, args)) instanceof Map,
  ),
  "state.id_exists": shows(
    "Whether SLS files have all states with these ids.",
    "state.id_exists create_myfile,update_template filestate",
    "ids, mods, test=None, queue=None, **kwargs",
    async (run, args) => {
      const low = await showLowSls(run, args);
      const ids = new Set(low.flatMap((chunk) => (chunk instanceof Map ? [strOf(chunk.get("__id__") ?? null)] : [])));
      return namesIn(argument(args, "ids")).every((id) => ids.has(id));
    },
  ),
};
