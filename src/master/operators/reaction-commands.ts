/** The way of the reactor's requests and the schedule's: that of an operator who has the master's key. */
import { reactorUser } from "../../workers/messages/reactor.ts";
import type { Audit } from "../audit/audit.ts";
import type { ReactionCommands } from "../reactor/reactions.ts";
import type { Commands } from "./commands.ts";
import { noConnection } from "./connection.ts";

/** `user`: the master's own. `caller`: who calls runner and wheel functions. */
export function reactionCommands(
  commands: Pick<Commands, "publish" | "run">,
  user: string,
  audit: Pick<Audit, "ofReactor"> | undefined,
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
  };
}
