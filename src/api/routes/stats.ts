/** `GET /stats`: the API's own counters. SaltGUI asks every minute whether its session lives. */

import type { FastifyInstance } from "fastify";
import { Float } from "../../wire/values.ts";
import { answer } from "../http/answer.ts";
import { statsSchema } from "../schemas/pages.ts";
import { type Api, sessionOf } from "../sessions/context.ts";

/** All counters of this process, those of each bound among them. */
export function countersOf({ counters, admission, sessions, shared, streams, wheelCalls }: Api) {
  return {
    ...counters,
    connections: { ...admission.connections.counters },
    underWay: { ...admission.slots.counters },
    oidcExchanges: { ...admission.exchanges.counters },
    wheelCalls: { ...wheelCalls.counters },
    bodies: { ...admission.bodies.counters },
    answers: { ...admission.answers.counters },
    sessions: { open: sessions.count, ...sessions.counters },
    events: shared.hub.counters,
    streams: { open: streams.count, ...streams.counters, ...admission.streamSlots.counters },
  };
}

export function statsRoutes(app: FastifyInstance, api: Api): void {
  const { settings, counters, startedMs } = api;
  if (settings.isStatsDisabled) return;
  app.get("/stats", { schema: statsSchema(settings.isStatsOpen) }, async (request, reply) => {
    if (!settings.isStatsOpen) sessionOf(api, request);
    if (!settings.isCollectingStats) return await answer(request, reply, {});
    const uptime = (Date.now() - startedMs) / 1_000;
    const applications = {
      Enabled: true,
      "Current Requests": api.admission.slots.counters.underWay,
      "Current Time": new Float(Date.now() / 1_000),
      "Start Time": new Float(startedMs / 1_000),
      "Total Requests": counters.requests,
      Uptime: new Float(uptime),
    };
    return await answer(request, reply, { "CherryPy Applications": applications, Saltworks: countersOf(api) });
  });
}
