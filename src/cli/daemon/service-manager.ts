/**
 * Tells the service manager that a daemon is ready, alive and stopping. Source: sd_notify(3): datagrams to the socket that NOTIFY_SOCKET names,
 * a path or an abstract socket name; WATCHDOG_USEC is the time within which it expects a sign of life.
 */
import type { Logger } from "pino";
import { within } from "../../deadline.ts";
import { SaltworksError } from "../../errors.ts";
import { watchdogAnswerShare } from "../../limits.ts";

export type ServiceManager = {
  /** Sends lines such as `READY=1`. */
  tell(...lines: readonly string[]): void;
  /** Every half of WATCHDOG_USEC, reports that this process is alive if `isAlive` resolves in time. */
  watch(isAlive: () => Promise<boolean>): void;
  close(): void;
};

type Environment = Record<string, string | undefined>;

/** Removes the variables from `environment`, because programs that a daemon starts must not report for it. */
export async function openServiceManager(
  environment: Environment,
  log: Pick<Logger, "warn" | "error">,
): Promise<ServiceManager> {
  const { NOTIFY_SOCKET: path = "", WATCHDOG_USEC: watchdogUs = "", WATCHDOG_PID: watchedPid } = environment;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete environment[name];
  // Other kinds of sockets, such as `vsock:` of virtual machines, are not supported.
  if (!/^[/@]./.test(path)) return { tell: () => undefined, watch: () => undefined, close: () => undefined };
  const { UnixDatagrams } = await import("../host/system-calls.ts");
  const datagrams = new UnixDatagrams(path);
  const tell = (...lines: readonly string[]): void => {
    const fault = datagrams.send(Buffer.from(lines.join("\n")));
    if (fault !== undefined) log.warn({ fault, lines }, "the service manager did not accept a message");
  };
  const isMeant = watchedPid === undefined || Number(watchedPid) === process.pid;
  const intervalMs = isMeant ? Number(watchdogUs) / 2_000 : 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    tell,
    watch: (isAlive) => {
      if (!(intervalMs >= 1)) return;
      let isAsking = false;
      const look = async (): Promise<void> => {
        if (isAsking) return;
        isAsking = true;
        if (await answersInTime(isAlive, intervalMs * watchdogAnswerShare, log)) tell("WATCHDOG=1");
        isAsking = false;
      };
      timer = setInterval(() => void look(), intervalMs);
      void look();
    },
    close: () => {
      clearInterval(timer);
      datagrams.close();
    },
  };
}

async function answersInTime(
  isAlive: () => Promise<boolean>,
  timeoutMs: number,
  log: Pick<Logger, "error">,
): Promise<boolean> {
  try {
    return await within(isAlive(), timeoutMs, () => {
      throw new SaltworksError("TASK_TIMEOUT", `no answer in ${timeoutMs} ms`);
    });
  } catch (error) {
    log.error({ err: error }, "the threads do not answer, so the service manager gets no sign of life");
    return false;
  }
}
