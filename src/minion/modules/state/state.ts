/** Execution module `state`: compiles and runs states. Source: Salt 3007's `state`, docs/functions.md. */
import type { ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { signature } from "../declare/signature.ts";
import { apply, highstate, single, sls } from "./apply.ts";
import { conflicts } from "./run.ts";
import { showFunctions } from "./show.ts";

type Run = ModuleFunction["run"];

function runs(parameters: string, run: Run, about: string, ...examples: readonly string[]): ModuleFunction {
  return { ...signature(parameters), outputter: "highstate", doc: describe(about, ...examples), run };
}

export const stateModule: ModuleFunctions = {
  ...showFunctions,
  "state.apply": {
    ...runs(
      "mods=None, **kwargs",
      apply,
      "Runs SLS files, or without names the states of the top files. `test=True` only shows what would change.",
      "state.apply",
      "state.apply core,edit.vim test=True",
    ),
    pythonName: "apply_",
  },
  "state.highstate": runs(
    "test=None, queue=None, state_events=None, **kwargs",
    highstate,
    "Runs the states that the top files give this minion.",
    "state.highstate",
    "state.highstate whitelist=sls1_to_run,sls2_to_run",
  ),
  "state.sls": runs(
    "mods, test=None, exclude=None, queue=None, sync_mods=None, state_events=None, **kwargs",
    sls,
    "Runs SLS files.",
    "state.sls core,edit.vim",
    "state.sls myslsfile pillar=\"{foo: 'Foo!'}\"",
  ),
  "state.single": runs(
    "fun, name, test=None, queue=None, **kwargs",
    single,
    "Runs one state with these arguments.",
    "state.single cmd.run name='echo hello'",
  ),
  "state.running": {
    ...signature("concurrent=False"),
    doc: describe("Sentences about the state functions that run on this minion now.", "state.running"),
    run: async (context, args) => {
      const found = await conflicts(context, { ...args, named: { ...args.named, queue: null } });
      context.setRetcode(0);
      return found;
    },
  },
};
