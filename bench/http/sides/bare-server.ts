/**
 * A bare fastify server, the least that an API in Node costs: every route answers with a fixed value. The values come as JSON, by method and path,
 * in the first message of the parent process, which gets the port back.
 */
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { SaltworksError } from "../../../src/errors.ts";

export type BareRoutes = Readonly<Record<string, string>>;

process.once("message", (message) => {
  void listen(message as BareRoutes).then((port) => process.send?.(port));
});
process.once("disconnect", () => process.exit());

async function listen(routes: BareRoutes): Promise<number> {
  const app = fastify();
  for (const [name, json] of Object.entries(routes)) {
    const [method, path] = name.split(" ");
    if (method === undefined || path === undefined) throw new SaltworksError("USAGE", `not a route: ${name}`);
    const value: unknown = JSON.parse(json);
    app.route({ method, url: path, handler: async () => value });
  }
  await app.listen({ port: 0, host: "127.0.0.1" });
  return (app.server.address() as AddressInfo).port;
}
