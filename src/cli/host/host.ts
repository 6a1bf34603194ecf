/** The process as commands use it: streams, signals, the user. Tests use a host without a process. */
import { ownUserName } from "../../config/host/user.ts";
import { LineInput } from "./line-input.ts";
import { openTerminal, type Screen } from "./terminal.ts";

export type Host = {
  /** Writes the exact text to standard output. */
  write(text: string): void;
  /** Writes the exact text to standard error. */
  complain(text: string): void;
  readonly isTerminal: boolean;
  /** Whether standard input is a terminal. */
  readonly isInputTerminal: boolean;
  /** Standard error if it is a terminal. Progress bars are drawn there, so that standard output holds only results. */
  readonly errorTerminal: NodeJS.WriteStream | undefined;
  /** The working directory; undefined if it has been removed. */
  readonly directory: string | undefined;
  /** Width of the terminal; undefined without one. */
  readonly columns: number | undefined;
  /** Takes the terminal over until the screen is closed. Call it only if `isTerminal`. */
  openScreen(): Screen;
  /** One line of standard input without its end; undefined at the end of input. */
  readLine(): Promise<string | undefined>;
  /** Reads a line like `readLine`, but a terminal does not show it. */
  readSecret(question: string): Promise<string | undefined>;
  /** The name that the master records with requests: the user's name, or `sudo_NAME` if NAME became root with sudo. */
  readonly user: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Calls `listener` on Ctrl-C (or these signals) instead of ending the process, until the returned function is called. */
  onInterrupt(listener: () => void, signals?: readonly NodeJS.Signals[]): () => void;
  /** Makes Ctrl-C end the process with Salt's words and exit code while no listener is set. */
  leaveOnInterrupt(): void;
};

/** The code of sysexits for an error of input or output. */
const unwritableExitCode = 74;

/** The process itself. */
export function processHost(): Host {
  // A reader that closes the pipe early, such as `head`, is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    process.stderr.write(`saltworks: the output cannot be written: ${error.message}\n`);
    process.exit(unwritableExitCode);
  });
  // A closed standard error must not lose the result.
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

/** `interrupt` has the effect of a SIGINT at once. */
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
