/** Functions that only templates of orchestrations have, because they need the master. Source: Salt 3007's module `saltutil`. */
import { SaltworksError } from "../../errors.ts";
import { bindCall } from "../../minion/functions/binding.ts";
import type { TemplateFunction } from "../../minion/functions/module-contract.ts";
import { argument, ownKeywords, signature } from "../../minion/modules/declare/signature.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue, numberOf } from "../../python/values.ts";
import { argumentsOf } from "../../states/compile/read.ts";
import type { MasterPort } from "../../states/modules/orchestrate/port.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** Only bound: it never runs. */
const unrun = { doc: "", run: () => null };
const called = { ...unrun, ...signature("name, arg=None, kwarg=None, full_return=False, **kwargs") };
const sent = {
  ...unrun,
  ...signature("tgt, fun, arg=None, timeout=None, tgt_type='glob', ret='', kwarg=None, ssh=False, **kwargs"),
};

export function templateFunctions(port: MasterPort): ReadonlyMap<string, TemplateFunction> {
  const call = (kind: "runner" | "wheel"): [string, TemplateFunction] => [
    `saltutil.${kind}`,
    async (args, kwargs) => {
      const bound = bindCall(called, `saltutil.${kind}`, args, kwargs);
      const fun = strOf(argument(bound, "name"));
      const given = argumentsOf(argument(bound, "arg"));
      const keywords = joined(argument(bound, "kwarg"), ownKeywords(bound));
      if (kind === "wheel" && given.length > 0)
        throw new SaltworksError("FUNCTION_ARGUMENTS", "give the arguments of a wheel function by name", {});
      const answer =
        kind === "runner" ? await port.runRunner(fun, given, keywords) : await port.runWheel(fun, keywords);
      const { value, isSuccess, jid } = answer;
      if (kind === "runner" && !isTrue(argument(bound, "full_return"))) return value;
      return new Map<Value, Value>([
        ["fun", `${kind}.${fun}`],
        ["jid", jid ?? ""],
        ["return", value],
        ["success", isSuccess],
      ]);
    },
  ];
  return new Map([call("runner"), call("wheel"), ["saltutil.cmd", (args, kwargs) => runJob(port, args, kwargs)]]);
}

/** By minion what it returned, its exit code, and the job's id. */
async function runJob(port: MasterPort, args: readonly Value[], kwargs: ValueMap): Promise<Value> {
  const bound = bindCall(sent, "saltutil.cmd", args, kwargs);
  if (isTrue(argument(bound, "ssh")))
    throw new SaltworksError("FUNCTION_ARGUMENTS", "ssh of saltutil.cmd is not supported by this program", {});
  const target = argument(bound, "tgt");
  const { jid, minions } = await port.runJob({
    target: Array.isArray(target) ? target.map(strOf) : strOf(target),
    targetKind: strOf(argument(bound, "tgt_type")),
    fun: strOf(argument(bound, "fun")),
    args: argumentsOf(argument(bound, "arg")),
    kwargs: joined(argument(bound, "kwarg"), ownKeywords(bound)),
    ret: strOf(argument(bound, "ret")),
    timeoutSeconds: numberOf(argument(bound, "timeout")),
    ...{ returnerSettings: {}, subset: undefined, batch: undefined },
  });
  const answered = [...minions].filter(([, { value }]) => value !== undefined);
  return new Map<Value, Value>(
    answered.map(([id, { value, retcode }]) => [
      id,
      new Map<Value, Value>([
        ["ret", value ?? null],
        ["retcode", retcode],
        ["jid", jid ?? ""],
      ]),
    ]),
  );
}

function joined(given: Value, keywords: ValueMap): ValueMap {
  return new Map([...(given instanceof Map ? given : []), ...keywords]);
}
