/**
 * `-d`: the command starts itself again without a terminal, in its own session. It returns when that process serves or has failed, and passes
 * on the messages and the exit code of that process. Node.js cannot fork, so the second process is a new program that reports over Node's channel.
 */
import { spawn } from "node:child_process";
import { backgroundStartTimeoutMs } from "../../limits.ts";
import type { Host } from "../host/host.ts";

/** Marks the process in the background, in its environment. */
const mark = "SALTWORKS_BACKGROUND";
const failedExitCode = 1;
const umask = 0o022;

type Report = { readonly kind: "said"; readonly text: string } | { readonly kind: "up" };

/** A daemon's link to the process that started it, if there is one. */
export type Foreground = {
  readonly isBackground: boolean;
  /** A host whose `complain` sends the text to the process that started this one. */
  readonly host: Host;
  /** Reports that the daemon serves, so that the starter exits. */
  up(): void;
};

/** This process's link. Without a starter its `up` has no effect. */
export function foregroundOf(host: Host): Foreground {
  const isBackground = process.env[mark] === "1" && process.send !== undefined;
  delete process.env[mark];
  if (!isBackground) return { isBackground, host, up: () => undefined };
  process.umask(umask);
  const report = (message: Report): void => {
    if (process.connected) process.send?.(message, () => undefined);
  };
  const complain = (text: string): void => report({ kind: "said", text });
  process.on("uncaughtExceptionMonitor", (error) => complain(`${error.stack ?? error.message}\n`));
  return {
    isBackground,
    host: { ...host, complain },
    up: () => {
      report({ kind: "up" });
      if (process.connected) process.disconnect();
    },
  };
}

/** @returns the exit code of the operator's command */
export async function startInBackground(argv: readonly string[], host: Host): Promise<number> {
  const [, main = ""] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, main, ...argv], {
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: { ...process.env, [mark]: "1" },
  });
  return await new Promise<number>((resolve) => {
    const timer = setTimeout(() => {
      host.complain(
        `saltworks: process ${child.pid} is not ready after ${backgroundStartTimeoutMs / 1_000} s: see its log\n`,
      );
      end(failedExitCode);
    }, backgroundStartTimeoutMs);
    const end = (code: number): void => {
      clearTimeout(timer);
      if (child.connected) child.disconnect();
      child.unref();
      resolve(code);
    };
    child.on("message", (message: Report) => {
      if (message.kind === "said") host.complain(message.text);
      else end(0);
    });
    child.once("error", (error) => {
      host.complain(`saltworks: ${error.message}\n`);
      end(failedExitCode);
    });
    child.once("exit", (code, signal) => {
      if (signal !== null) host.complain(`saltworks: the process in the background was ended by ${signal}\n`);
      end(code ?? failedExitCode);
    });
  });
}
