/** `GET /`: names all clients, enabled or not, as Salt does. */
import type { FastifyInstance } from "fastify";
import { answer } from "../http/answer.ts";

export const clientNames = [
  "local",
  "local_async",
  "local_batch",
  "local_subset",
  "runner",
  "runner_async",
  "ssh",
  "wheel",
  "wheel_async",
] as const;

export function welcomeRoutes(app: FastifyInstance): void {
  app.get("/", async (request, reply) => await answer(request, reply, { return: "Welcome", clients: clientNames }));
}
