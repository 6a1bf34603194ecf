/** What the commands use of the process they run in: streams, signals, who the user is. Tests give one of their own. */
import { ownUserName } from "../../config/host/user.ts";
import { LineInput } from "./line-input.ts";
import { openTerminal, type Screen } from "./terminal.ts";

export type Host = {
  /** To standard output, as it is. */
  write(text: string): void;
  /** To standard error, as it is. */
  complain(text: string): void;
  readonly isTerminal: boolean;
  /** Whether somebody types the standard input. */
  readonly isInputTerminal: boolean;
  /** Standard error, where it is a terminal: what moves is drawn there, so that standard output holds results only. */
  readonly errorTerminal: NodeJS.WriteStream | undefined;
  /** The directory that the command was started in; undefined if that is gone. */
  readonly directory: string | undefined;
  /** Width of the terminal, if there is one. */
  readonly columns: number | undefined;
  /** Takes the terminal over until the screen is closed. Only where `isTerminal`. */
  openScreen(): Screen;
  /** One line of standard input without its end; undefined when there is no more. */
  readLine(): Promise<string | undefined>;
  /** The same for a secret: a terminal does not show what is typed. */
  readSecret(question: string): Promise<string | undefined>;
  /** As whom the master records what is asked: the user's name, or `sudo_NAME` for root by sudo. */
  readonly user: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Calls `listener` on Ctrl-C (or these signals) instead of ending the process, until the returned function is called. */
  onInterrupt(listener: () => void, signals?: readonly NodeJS.Signals[]): () => void;
  /** From now on Ctrl-C ends the process with Salt's words and its exit code whenever nobody listens. */
  leaveOnInterrupt(): void;
};

/** Of sysexits: an error of input or output. */
const unwritableExitCode = 74;

/** The process itself. */
export function processHost(): Host {
  // A reader that has seen enough (`| head`) is no error: the rest is written nowhere.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    process.stderr.write(`saltworks: the output cannot be written: ${error.message}\n`);
    process.exit(unwritableExitCode);
  });
  // Whoever closed the error output wants the result all the same.
  process.stderr.on("error", () => undefined);
  const { interrupt, ...interrupting } = interrupts();
  const input = new LineInput(process.stdin, interrupt);
  return {
    write: (text) => {
      process.stdout.write(text);
    },
    complain: (text) => {
      process.stderr.write(text);
    },
    isTerminal: process.stdout.isTTY === true,
    isInputTerminal: process.stdin.isTTY === true,
    errorTerminal: process.stderr.isTTY === true ? process.stderr : undefined,
    directory: currentDirectory(),
    openScreen: () => openTerminal(process.stdin, process.stdout),
    columns: process.stdout.columns,
    readLine: () => input.readLine(),
    readSecret: (question) => input.readSecret(question, process.stderr),
    user: currentUser(),
    environment: process.env,
    ...interrupting,
  };
}

/** `interrupt` does at once what a SIGINT would. */
function interrupts(): Pick<Host, "onInterrupt" | "leaveOnInterrupt"> & { readonly interrupt: () => void } {
  const listening = new Set<() => void>();
  let isLeaving = false;
  const leave = (): void => {
    if (listening.size > 0) return;
    process.stderr.write("\nExiting gracefully on Ctrl-c\n");
    process.exit(0);
  };
  return {
    interrupt: () => {
      if (isLeaving) leave();
      for (const listener of listening) listener();
      if (!isLeaving && listening.size === 0) process.kill(process.pid, "SIGINT");
    },
    onInterrupt: (listener, signals = ["SIGINT"]) => {
      listening.add(listener);
      for (const signal of signals) process.on(signal, listener);
      return () => {
        listening.delete(listener);
        for (const signal of signals) process.off(signal, listener);
      };
    },
    leaveOnInterrupt: () => {
      isLeaving = true;
      process.on("SIGINT", leave);
    },
  };
}

function currentDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function currentUser(): string {
  const username = ownUserName();
  const sudoUser = process.env.SUDO_USER;
  return username === "root" && sudoUser !== undefined && sudoUser !== "" ? `sudo_${sudoUser}` : username;
}
