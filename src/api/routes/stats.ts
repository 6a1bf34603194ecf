/** `GET /stats`: the API's own counters. SaltGUI asks every minute whether its session lives. */
import type { FastifyInstance } from "fastify";
import { Float } from "../../wire/values.ts";
import { answer } from "../http/answer.ts";
import { type Api, sessionOf } from "../sessions/context.ts";

export function statsRoutes(app: FastifyInstance, api: Api): void {
  const { settings, counters, sessions, shared, startedMs } = api;
  if (settings.isStatsDisabled) return;
  app.get("/stats", async (request, reply) => {
    if (!settings.isStatsOpen) sessionOf(api, request);
    if (!settings.isCollectingStats) return await answer(request, reply, {});
    const uptime = (Date.now() - startedMs) / 1_000;
    const applications = {
      Enabled: true,
      "Current Requests": counters.underWay,
      "Current Time": new Float(Date.now() / 1_000),
      "Start Time": new Float(startedMs / 1_000),
      "Total Requests": counters.requests,
      Uptime: new Float(uptime),
    };
    const saltworks = {
      ...counters,
      sessions: { open: sessions.count, ...sessions.counters },
      events: shared.hub.counters,
      streams: { open: api.streams.count, ...api.streams.counters },
    };
    return await answer(request, reply, { "CherryPy Applications": applications, Saltworks: saltworks });
  });
}
