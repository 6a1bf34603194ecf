/** Wheel function `saltworks.peer_returns`: the returns of a job for the minion that published it. Source: Salt's `pub_ret`, `minion_publish`. */
import { allReturns } from "../../store/jobs/job-cache.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, parametersOf } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { HeldReturns } from "./held-returns.ts";
import { fieldsOf } from "./stored-body.ts";

export const peerReturnsWheel: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "saltworks.peer_returns",
    {
      parameters: parametersOf("jid!", "id!", "waited", "full"),
      doc: "Returns of a job for the minion `id`, if that minion published it; `waited`: in the form of `minion_publish`; `full`: whole returns.",
      run: peerReturns,
    },
  ],
]);

async function peerReturns({ jobs }: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = String(args.get("jid"));
  const stored = await jobs.job(jid);
  const found = new Map<string, Encodable>();
  if (stored === undefined || initiatorOf(fieldsOf(stored.load)) !== args.get("id")) return found;
  const shape = !isGivenTrue(args, "waited") ? polled : isGivenTrue(args, "full") ? whole : value;
  if (shape === whole) found.set("__jid__", jid);
  const held = new HeldReturns();
  for await (const { minionId, body } of allReturns(jobs, jid)) {
    held.add(body);
    found.set(minionId, shape(fieldsOf(body)));
  }
  return found;
}

/** Only the master writes this member into a load, when a minion publishes the job. */
function initiatorOf(load: ValueMap): Value | undefined {
  const kwargs = load.get("kwargs");
  return kwargs instanceof Map ? kwargs.get("id") : undefined;
}

function polled(fields: ValueMap): Encodable {
  const out = fields.get("out");
  return { ret: value(fields), ...(out === undefined ? {} : { out }) };
}

function value(fields: ValueMap): Encodable {
  return fields.get("return") ?? null;
}

function whole(fields: ValueMap): Encodable {
  const { return: _value, ...others } = Object.fromEntries(fields);
  return { ...others, ret: value(fields) };
}
