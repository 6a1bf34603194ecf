/** Counts and logs requests that failed by a fault. A bound that is reached is counted where it is: a flood must not fill the log. */
import type { FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import { apiSameErrorLogMs } from "../../limits.ts";
import { ApiError, toApiError } from "./errors.ts";

/** @returns the error that the client gets */
export type Report = (error: unknown, request: FastifyRequest) => ApiError;

/** Logs a kind of error once in `apiSameErrorLogMs`, with the number of those left out. */
export function reporter(log: Logger, counters: { errors: number }): Report {
  const last = new Map<string, { atMs: number; leftOut: number }>();
  return (error, request) => {
    const shown = toApiError(error);
    if (shown.status < 500 || error instanceof ApiError) return shown;
    counters.errors += 1;
    const kind = error instanceof SaltworksError ? error.code : "fault";
    const known = last.get(kind);
    const nowMs = performance.now();
    if (known !== undefined && nowMs - known.atMs < apiSameErrorLogMs) {
      known.leftOut += 1;
      return shown;
    }
    const route = request.routeOptions.url ?? "unknown";
    log.error({ err: error, route, method: request.method, leftOut: known?.leftOut ?? 0 }, "a request failed");
    last.set(kind, { atMs: nowMs, leftOut: 0 });
    return shown;
  };
}
