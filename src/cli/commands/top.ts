/** `saltworks top`: shows the master's metrics, live on a terminal or once in a pipe. It asks the request port with the user's key. */
import { setTimeout as wait } from "node:timers/promises";
import { MasterClient } from "../../client/master-client.ts";
import { requestEndpoint } from "../../client/request-port.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { topReplyTimeoutMs } from "../../limits.ts";
import type { Host } from "../host/host.ts";
import type { Screen } from "../host/terminal.ts";
import { paintFor } from "../outputters/colours.ts";
import { noticePlace } from "../show/notices.ts";
import { understand } from "../start/command-line.ts";
import { masterConfig } from "../start/configuration.ts";
import { screenLines } from "../top/screen.ts";
import { Change, Snapshot } from "../top/snapshot.ts";
import { type View, viewOf } from "../top/view.ts";

type Look = { readonly snapshot: Snapshot; readonly atMs: number };
type Ask = () => Promise<Look>;
type Lines = (view: View, size: { readonly columns?: number; readonly rows?: number }, trouble?: string) => string[];

/** The time between two requests for metrics. A view shows the change between them. */
const defaultIntervalSeconds = 1;
const intervalSecondsMax = 3_600;

/** @returns the exit code: 0. @throws SaltworksError as other commands do while no master answers */
export async function runTop(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("top", argv, host);
  const intervalSeconds = options.intervalSeconds ?? defaultIntervalSeconds;
  if (intervalSeconds < 1 || intervalSeconds > intervalSecondsMax) {
    const range = `from 1 to ${intervalSecondsMax.toLocaleString("en-US")}`;
    throw new SaltworksError("USAGE", `--interval takes a number of seconds ${range}, not ${intervalSeconds}`);
  }
  const intervalMs = intervalSeconds * 1_000;
  const config = masterConfig(options.configDir, host);
  const isScreen = host.isTerminal && host.environment.TERM !== "dumb";
  const isPlain = options.isOnce || options.isJson || !isScreen;
  const isColourWanted = isScreen && (host.environment.NO_COLOR ?? "") === "" && !options.isColourOff;
  const paint = paintFor(options.isColourForced || isColourWanted);
  const endpoint = requestEndpoint(config);
  const lines: Lines = (view, size, trouble) => {
    const clock = new Date().toTimeString().slice(0, 8);
    return screenLines(view, { endpoint, clock, paint, ...size, ...(trouble === undefined ? {} : { trouble }) });
  };
  let client: MasterClient | undefined;
  try {
    const opened = await MasterClient.open(config, host.user);
    client = opened;
    await opened.reach();
    const ask: Ask = async () => {
      const { value, isSuccess } = await opened.wheel("saltworks.metrics", {}, topReplyTimeoutMs);
      if (!isSuccess) throw new SaltworksError("REQUEST_REFUSED", String(value));
      return { snapshot: new Snapshot(value), atMs: performance.now() };
    };
    const first = await ask();
    if (!isPlain) return await showLive(host, ask, first, intervalMs, lines);
    await wait(intervalMs);
    const view = viewOf(changeBetween(first, await ask()));
    host.write(options.isJson ? `${JSON.stringify(view, undefined, 2)}\n` : `${lines(view, {}).join("\n")}\n`);
    return 0;
  } catch (error) {
    noticePlace(error, config, host);
    throw error;
  } finally {
    client?.close();
  }
}

function changeBetween(before: Look, now: Look): Change {
  return new Change(before.snapshot, now.snapshot, (now.atMs - before.atMs) / 1_000);
}

/** Refreshes until q, Ctrl-C or TERM. If the master stops answering, its last figures stay on the screen and the requests go on. */
async function showLive(host: Host, ask: Ask, first: Look, intervalMs: number, lines: Lines): Promise<number> {
  const screen = host.openScreen();
  const end = new AbortController();
  const forgetInterrupt = host.onInterrupt(() => end.abort(), ["SIGINT", "SIGTERM", "SIGHUP"]);
  try {
    screen.onKey((key) => {
      if (endKeys.has(key)) end.abort();
    });
    await refresh(screen, ask, first, intervalMs, lines, end.signal);
    return 0;
  } finally {
    forgetInterrupt();
    screen.close();
  }
}

/** q, Q, Ctrl-C, Ctrl-D, Escape. */
const endKeys: ReadonlySet<string> = new Set(["q", "Q", "\x03", "\x04", "\x1b"]);

async function refresh(
  screen: Screen,
  ask: Ask,
  first: Look,
  intervalMs: number,
  lines: Lines,
  end: AbortSignal,
): Promise<void> {
  let last = first;
  let view: View | undefined;
  const draw = () => {
    const silentMs = performance.now() - last.atMs;
    const trouble = silentMs < intervalMs + patienceMs ? undefined : `no answer for ${Math.round(silentMs / 1_000)} s`;
    const size = screen.size();
    screen.draw(view === undefined ? ["saltworks top: looking ..."] : lines(view, size, trouble));
  };
  screen.onResize(draw);
  const ended = new Promise<void>((resolve) => end.addEventListener("abort", () => resolve(), { once: true }));
  // Without the signal this wait would delay the end of the program.
  const nextLook = () => wait(intervalMs, undefined, { signal: end }).catch(() => undefined);
  const clock = setInterval(draw, 1_000);
  draw();
  try {
    for (;;) {
      await nextLook();
      if (end.aborted) return;
      const look = await Promise.race([answerOf(ask), ended]);
      if (look === undefined) continue;
      view = viewOf(changeBetween(last, look));
      last = look;
      draw();
    }
  } finally {
    clearInterval(clock);
  }
}

/** How late an answer may be before the screen says that the master is silent. */
const patienceMs = 1_500;

/** @returns undefined if the master does not answer or refuses, because it may be stopping or starting. @throws SaltworksError any other error */
async function answerOf(ask: Ask): Promise<Look | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (hasCode(error, "REQUEST_TIMEOUT") || hasCode(error, "REQUEST_REFUSED")) return undefined;
    throw error;
  }
}
