/** This minion as the machine on which states run. */
import { existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { StateHost } from "../../../states/run/contract.ts";
import { asValue, type Encodable, type Value } from "../../../wire/values.ts";
import { cached } from "../cp/files.ts";
import { readIfAny } from "../cp/local-roots.ts";
import { renderer } from "../declare/text-template.ts";
import { findGroupId, findUser } from "../machine/user-database.ts";
import type { Run } from "./run.ts";
import { callWith } from "./source.ts";

/** @param sendsEvents - whether each state that ran is an event (`state_events`); a state's `fire_event` always is */
export function stateHost(run: Run, sendsEvents: boolean): StateHost {
  const { context, pillar } = run;
  return {
    grains: context.grains(),
    pillar,
    has: (name) => context.functions.has(name),
    call: async (name, args, kwargs) => {
      let retcode = 0;
      const setRetcode = (code: number) => {
        retcode = code;
      };
      const value = asValue(await callWith(context, name, { pillar, setRetcode }, args, kwargs));
      return { value, retcode };
    },
    read: async (source, saltenv) => {
      const path = await cached(context, source, saltenv, null);
      return path === false ? undefined : readIfAny(path);
    },
    render: async (text, saltenv, variables) => {
      const choice = { engine: "jinja", saltenv, pillarenv: undefined, pillarOverride: null };
      const render = await renderer({ ...context, pillar: () => pillar }, choice, variables);
      return await render(text);
    },
    exists: existsSync,
    ownerId: async (kind, name) => (kind === "user" ? (await findUser(name))?.uid : await findGroupId(name)),
    now: () => performance.timeOrigin + performance.now(),
    sleep: async (ms) => void (await wait(ms)),
    report: async (result, total, event) => {
      const { jid, config, extras } = context;
      const fire = extras?.orchestration?.fire ?? (config.file_client === "local" ? undefined : context.fireMaster);
      if (fire === undefined || (!sendsEvents && !isTrue(event))) return;
      const name = event === true ? strOf(result.get("name") ?? null) : strOf(event);
      const number = strOf(result.get("__run_num__") ?? null);
      const tag = isTrue(event)
        ? `salt/state_result/${jid}/${config.id}/${name}`
        : `salt/job/${jid}/prog/${config.id}/${number}`;
      const data = new Map<Value, Encodable>([["ret", result]]);
      if (!isTrue(event)) data.set("len", total);
      await fire(tag, data);
    },
  };
}
