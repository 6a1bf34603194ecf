/** Metrics of the reactor and of pillars, as parts of the table. */
import { secondsBounds } from "../../workers/measures/histogram.ts";
import { histogram, metric } from "./metric.ts";

export const reactor = {
  saltworks_reactor_events_total: metric(
    "counter",
    ["outcome"],
    "Events that match an entry of `reactor`: `taken`: their files are rendered; `failed`: a file is missing, failed or took too long; `own`: of the reactor's own calls, to which nothing reacts; `dropped`: too many waited.",
  ),
  saltworks_reactor_reactions_total: metric(
    "counter",
    ["kind", "outcome"],
    "Reactions by kind, `local`, `runner` or `wheel`. `done`: the job is published, or the call has ended well. `unmatched`: the job's target has no minion. `failed`; `dropped`: too many calls waited.",
  ),
  saltworks_reactor_waiting: metric(
    "gauge",
    ["what"],
    "`events` that wait for their files, and `calls` that wait to run.",
  ),
  saltworks_reactor_waiting_bytes: metric("gauge", [], "Bytes of the events that wait."),
  saltworks_reactor_seconds: histogram(
    ["part"],
    secondsBounds,
    "Time of an event: `wait` until its files are rendered, and `render`, the mean of the events that were rendered together.",
  ),
};

export const pillars = {
  saltworks_pillars_total: metric(
    "counter",
    ["outcome"],
    "Pillars asked for: `rendered`, `shared` with an equal question that waited, `failed`, or `refused` because too many waited or the minion had given up.",
  ),
  saltworks_pillars_waiting: metric("gauge", [], "Pillars that wait to be rendered."),
  saltworks_pillar_seconds: histogram(
    ["part"],
    secondsBounds,
    "A pillar's time: `wait` for its turn, `sources` while commands of `ext_pillar` run, and `render`.",
  ),
  saltworks_pillar_commands_total: metric(
    "counter",
    ["outcome"],
    "Commands of `ext_pillar`, and questions to its servers: `ended` well, `failed`, ended at `ext_pillar_timeout` (`timeout`), or because they gave too much (`tooLarge`).",
  ),
  saltworks_pillar_sources_total: metric(
    "counter",
    ["source", "outcome"],
    "Readings of each source of `ext_pillar`, with commands and servers: `read` or `failed`. Rendered pillars count, cached ones do not.",
  ),
  saltworks_pillar_source_seconds_total: metric(
    "counter",
    ["source"],
    "Time of each source of `ext_pillar`, its command or server included.",
  ),
  saltworks_pillar_commands_running: metric("gauge", [], "Pillars whose commands of `ext_pillar` run now."),
  saltworks_pillar_cache_total: metric(
    "counter",
    ["outcome"],
    "Questions for pillars while `pillar_cache` is on: `hits`, `misses`; minions whose cached pillars were `forgotten` because the minion or an operator asked for that; pillars that could not be cached (`unkept`), as on a full disk.",
  ),
} as const;
