/** `schedule.copy` and `schedule.move`: send a job to other minions, by publishing `schedule.add` to them. Source: Salt 3007's `schedule` module. */

import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { asValue, type Value, type ValueMap } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument, ownKeywords } from "../declare/signature.ts";
import { listSchedule } from "./ask.ts";
import { type Answer, isGiven, remove } from "./change.ts";

export async function copy(context: CallContext, args: BoundArguments): Promise<Answer> {
  const name = strOf(argument(args, "name"));
  if (isGiven(ownKeywords(args), "test")) {
    return { comment: `Job: ${name} would be copied from schedule.`, result: true };
  }
  const sent = await sendJob(context, name, argument(args, "target"));
  if ("answer" in sent) return sent.answer;
  return { comment: `Copied Job ${name} from schedule to minion(s).`, result: true, minions: sent.minions };
}

export async function move(context: CallContext, args: BoundArguments): Promise<Answer> {
  const name = strOf(argument(args, "name"));
  if (isGiven(ownKeywords(args), "test")) {
    return { comment: `Job: ${name} would be moved from schedule.`, result: true };
  }
  const sent = await sendJob(context, name, argument(args, "target"));
  if ("answer" in sent) return sent.answer;
  await remove(context, { named: { name }, rest: [], extra: new Map() });
  return { comment: `Moved Job ${name} from schedule.`, result: true, minions: sent.minions };
}

type Sent = { readonly answer: Answer } | { readonly minions: Value[] };

async function sendJob(context: CallContext, name: string, target: Value): Promise<Sent> {
  const job = (await listSchedule(context, { isHiddenShown: true })).get(name);
  if (!(job instanceof Map)) return { answer: { comment: `Job ${name} does not exist.`, result: false } };
  const response = asValue(await context.callFunction("publish.publish", [target, "schedule.add", wordsOf(job)]));
  if (!(response instanceof Map) || response.size === 0) {
    return { answer: { comment: "no servers answered the published schedule.add command", result: true } };
  }
  const failed = [...response].filter(([, answer]) => !isTrue(answer)).map(([id]) => id);
  if (failed.length > 0) {
    return { answer: { comment: "the following minions return False", result: true, minions: failed } };
  }
  return { minions: [...response.keys()] };
}

function wordsOf(job: ValueMap): Value[] {
  return Array.from(job, ([member, value]) => `${strOf(member)}=${strOf(value)}`);
}
