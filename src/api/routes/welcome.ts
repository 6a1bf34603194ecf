/** `GET /`: the page of `app` for browsers; else the names of all clients, enabled or not, as Salt does. */
import type { FastifyInstance } from "fastify";
import { builtClients } from "../clients/chunk.ts";
import { prefersPage } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import type { Api } from "../sessions/context.ts";
import { pageOf } from "./files.ts";

const clientNames = [...builtClients, "ssh"].sort();

export function welcomeRoutes(app: FastifyInstance, api: Api): void {
  const page = pageOf(api);
  app.get("/", async (request, reply) =>
    page !== undefined && prefersPage(request.headers.accept)
      ? await page(request, reply)
      : await answer(request, reply, { return: "Welcome", clients: clientNames }),
  );
}
