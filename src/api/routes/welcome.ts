/** `GET /`: the page of `app` or the dashboard for browsers; else the names of all clients, enabled or not, as Salt does. */

import type { FastifyInstance } from "fastify";
import { builtClients } from "../clients/chunk.ts";
import { prefersPage } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { welcomeSchema } from "../schemas/pages.ts";
import type { Api } from "../sessions/context.ts";
import type { Page } from "./dashboard.ts";
import { pageOf } from "./files.ts";

const clientNames = [...builtClients, "ssh"].sort();

/** `dashboard`: what browsers get where no `app` is configured. */
export function welcomeRoutes(app: FastifyInstance, api: Api, dashboard: Page | undefined): void {
  const page = pageOf(api) ?? dashboard;
  app.get("/", { schema: welcomeSchema(page !== undefined) }, async (request, reply) =>
    page !== undefined && prefersPage(request.headers.accept)
      ? await page(request, reply)
      : await answer(request, reply, { return: "Welcome", clients: clientNames }),
  );
}
