/** Closes a session: its id is no longer known, the browser's cookie goes, and the master forgets the token. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { MasterClient } from "../../client/master-client.ts";
import { clearedCookie } from "./carriers.ts";
import { type Api, sessionOf } from "./context.ts";
import type { Session } from "./sessions.ts";

/** @returns the session that was closed. @throws ApiError 401 */
export function closeSession(api: Api, request: FastifyRequest, reply: FastifyReply): Session {
  const { id, session } = sessionOf(api, request);
  api.sessions.close(id);
  forgetToken(api, session);
  reply.header("set-cookie", clearedCookie);
  return session;
}

/** The master forgets the token in the background: the session is closed already. */
function forgetToken(api: Api, { token }: Session): void {
  const remove = async () => {
    const client = await MasterClient.open(api.config, api.config.user);
    try {
      await client.runner("auth.del_token", [token], new Map());
    } finally {
      client.close();
    }
  };
  remove().catch((error: unknown) => api.log.warn({ err: error }, "a token could not be removed at a logout"));
}
