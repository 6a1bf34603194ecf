/** Opens the port of `rest_cherrypy`, and says in a sentence why it cannot be opened. */
import type { FastifyInstance } from "fastify";
import type { ApiSettings } from "../../config/api-settings.ts";
import { SaltworksError } from "../../errors.ts";
import { portFault } from "../../transport/port-fault.ts";
import { errnoOf } from "../../transport/socket-path.ts";

/** @throws SaltworksError PORT_UNUSABLE */
export async function listen(server: FastifyInstance, { host, port }: ApiSettings): Promise<void> {
  try {
    await server.listen({ host, port });
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === undefined) throw cause;
    const { text } = portFault({ option: "port", addressOption: "host", host, port }, errno);
    throw new SaltworksError("PORT_UNUSABLE", `rest_cherrypy: ${text}`, { errno }, { cause });
  }
}
