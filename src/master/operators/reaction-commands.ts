/** The way of the reactor's requests and the schedule's: that of an operator who has the master's key. */
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { sidecarCallerMs } from "../../limits.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import { reactorUser } from "../../workers/messages/reactor.ts";
import type { Audit, AuditNote } from "../audit/audit.ts";
import type { ReactionCommands } from "../reactor/reactions.ts";
import type { OpenSidecar } from "../sidecar/open.ts";
import type { Commands } from "./commands.ts";
import { noConnection } from "./connection.ts";

/** `sidecar`: the site's own Salt, for `caller` reactions. */
export type ReactionParts = {
  readonly config: Pick<MasterConfig, "user">;
  readonly audit: Pick<Audit, "ofReactor"> | undefined;
  readonly sidecar: Pick<OpenSidecar, "calls"> | undefined;
};

/** Jobs are published by the master's own user. `caller`: who calls runner and wheel functions. */
export function reactionCommands(
  { config: { user }, audit, sidecar }: ReactionParts,
  commands: Pick<Commands, "publish" | "run">,
  caller: string = reactorUser,
): ReactionCommands {
  const callerOf = (name: string) => ({ kind: "key", user: name, isMaster: true }) as const;
  const connectionOf = (client: "local" | "runner" | "wheel") => ({ ...noConnection, note: audit?.ofReactor(client) });
  return {
    publish: (load) => commands.publish(load, callerOf(user), connectionOf("local")),
    run: async (kind, load) => {
      let reply: Uint8Array | undefined;
      const keep = (frame: Uint8Array) => {
        reply = frame;
      };
      await commands.run(kind, load, callerOf(caller), keep, connectionOf(kind));
      return reply;
    },
    callHere: async (fun, load) => {
      const note = (outcome: AuditNote["outcome"]) => audit?.ofReactor("caller")({ user: caller, fun, outcome });
      try {
        if (sidecar === undefined) throw new SaltworksError("SIDECAR_MISSING", "salt_python is False");
        const given = decode(load) as ValueMap;
        const [args, kwargs] = [given.get("args") ?? [], given.get("kwargs") ?? new Map()];
        await sidecar.calls.ask({ kind: "minion_function", fun, args, kwargs }, sidecarCallerMs);
        note("succeeded");
      } catch (error) {
        note("failed");
        throw error;
      }
    },
  };
}
