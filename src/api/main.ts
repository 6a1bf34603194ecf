/** Runs the HTTP API as a process of its own: it asks the master as an operator's program does. */

import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Logger } from "pino";
import { EventHub } from "../client/event-hub.ts";
import { RequestChannels } from "../client/request-channels.ts";
import { type ApiSettings, readApiSettings } from "../config/api-settings.ts";
import { isDirectory, isFile } from "../config/files/kinds.ts";
import type { MasterConfig } from "../config/load.ts";
import { apiChannelsMax, apiDrainMs, apiSessionSweepMs } from "../limits.ts";
import { type BrowserLogin, readBrowserLogin } from "../openid/settings.ts";
import { openFilesLimit } from "../transport/open-files.ts";
import type { Encodable } from "../wire/values.ts";
import { SharedCalls } from "./admission/shared-calls.ts";
import { type ApiTimes, apiTimes } from "./admission/times.ts";
import { builtClients } from "./clients/chunk.ts";
import { listen } from "./http/listen.ts";
import { reporter } from "./http/report.ts";
import { countersOf } from "./routes/stats.ts";
import { buildServer } from "./server.ts";
import { admitLiving, openAdmission } from "./sessions/admit.ts";
import type { Api } from "./sessions/context.ts";
import { Senders } from "./sessions/senders.ts";
import { Sessions } from "./sessions/sessions.ts";
import { EventStreams } from "./streams/event-streams.ts";

export type ApiHooks = {
  readonly onReady?: (api: { readonly answers: () => Promise<void>; readonly state: () => Promise<string> }) => void;
  readonly onStopping?: () => void;
};

/** An API that listens. */
export type RunningApi = { readonly port: number; readonly api: Api; readonly stop: () => Promise<void> };

/** A login that cannot work is not offered, and the log says why. All other logins go on. */
function readOidcLogin(config: MasterConfig, log: Logger): BrowserLogin | undefined {
  try {
    return readBrowserLogin(config.external_auth);
  } catch (error) {
    log.error(`external_auth:oidc: there is no login in a browser: ${(error as Error).message}`);
    return undefined;
  }
}

/** What of `netapi_enable_clients` enables nothing. */
function clientNotes({ netapi_enable_clients: names }: MasterConfig): string[] {
  if (names.length === 0)
    return ["netapi_enable_clients names no client, so that every command of the HTTP API is refused with 400"];
  const unknown = names.filter((name) => !builtClients.some((known) => known === name));
  return unknown.map((name) => `netapi_enable_clients: there is no client ${JSON.stringify(name)}`);
}

/** Files that the settings name and that cannot be served: requests for them get 404. */
function fileNotes({ app, favicon, staticDirectory }: ApiSettings): string[] {
  const named = { app, favicon, static: staticDirectory };
  return Object.entries(named).flatMap(([name, path]) => {
    if (path === undefined) return [];
    const isThere = existsSync(path) && (name === "static" ? isDirectory(path) : isFile(path));
    return isThere ? [] : [`rest_cherrypy: ${name}: ${path} is not a ${name === "static" ? "directory" : "file"}`];
  });
}

/** @throws SaltworksError CONFIG_INVALID, PORT_UNUSABLE */
export async function startApi(config: MasterConfig, log: Logger, times: ApiTimes = apiTimes): Promise<RunningApi> {
  const settings = readApiSettings(config.rest_cherrypy);
  for (const note of [...settings.notes, ...clientNotes(config), ...fileNotes(settings)]) log.warn(note);
  const sessions = new Sessions(join(config.cachedir, "api_sessions"));
  const shared = { channels: new RequestChannels(config, apiChannelsMax), hub: new EventHub(config) };
  // Nothing else tells that the master has ended: an answer would be awaited until its timeout.
  shared.hub.onLoss = (error) => shared.channels.abandon(error);
  shared.hub.watch(() => undefined);
  const streams = new EventStreams(shared.hub, times.streamPingMs);
  const counters = { requests: 0, errors: 0 };
  const admission = openAdmission(settings.tls !== undefined, openFilesLimit());
  const senders = new Senders(config);
  const startedMs = Date.now();
  const oidc = readOidcLogin(config, log);
  const own = { sessions, senders, shared, streams, counters, admission, wheelCalls: new SharedCalls<Encodable>() };
  const report = reporter(log, counters);
  const api: Api = { config, settings, log, report, times, startedMs, oidc, ...own };
  const server = buildServer(api);
  await admitLiving(server.server, api);
  const sweep = () =>
    void sessions.sweep().catch((error: unknown) => log.error({ err: error }, "sessions could not be swept"));
  const timer = setInterval(sweep, apiSessionSweepMs).unref();
  await listen(server, settings);
  const stop = async () => {
    clearInterval(timer);
    streams.close();
    const late = new Promise<void>((resolve) => setTimeout(resolve, apiDrainMs).unref());
    await Promise.race([server.close(), late]);
    shared.hub.close();
    shared.channels.close();
  };
  return { port: (server.server.address() as AddressInfo).port, api, stop };
}

/** Runs until TERM or INT. @returns the exit code */
export async function runApi(config: MasterConfig, log: Logger, hooks: ApiHooks = {}): Promise<number> {
  const running = await startApi(config, log);
  log.info({ port: running.port }, "the HTTP API is ready");
  hooks.onReady?.({
    answers: () => Promise.resolve(),
    state: () => Promise.resolve(JSON.stringify(countersOf(running.api))),
  });
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    process.once("SIGTERM", resolve);
    process.once("SIGINT", resolve);
  });
  hooks.onStopping?.();
  log.info({ signal }, "shutting down");
  await running.stop();
  return 0;
}
