/**
 * Kills commands whose thread or master has died, even by SIGKILL. A shell that outlives the master reads the process group of each running
 * command from a pipe. When the pipe closes, it kills the remaining groups. This works on every system, unlike other signs of a parent's death.
 */
import { type ChildProcess, spawn } from "node:child_process";

/** The shell ignores HUP, INT and TERM, which systemd sends to the whole group at a stop: it must outlive the commands. */
const script = `trap '' HUP INT TERM
running=' '
while read -r sign pid; do
  case $sign in
    +) running="$running$pid " ;;
    -) running="\${running%% $pid *} \${running#* $pid }" ;;
  esac
done
for pid in $running; do kill -s KILL -- "-$pid"; done`;

export class CommandGuard {
  readonly #groups = new Set<number>();
  #shell: ChildProcess | undefined;

  /** Starts the shell. Call it before a command starts. If the shell cannot start, commands run without a guard. */
  start(): void {
    if (this.#shell !== undefined) return;
    try {
      this.#spawn();
    } catch {
      // The next command fails to start with the same error and reports it.
    }
  }

  /** `group`: the process id of a command, which leads its own group. */
  add(group: number): void {
    this.#groups.add(group);
    this.#tell("+", group);
  }

  remove(group: number): void {
    if (this.#groups.delete(group)) this.#tell("-", group);
  }

  #spawn(): void {
    const shell = spawn("/bin/sh", ["-c", script], {
      cwd: "/",
      env: {},
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    const forget = () => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    shell.once("error", forget).once("exit", forget);
    // The next command starts a new shell if this one was killed.
    shell.stdin?.on("error", forget);
    shell.unref();
    this.#shell = shell;
    for (const group of this.#groups) this.#tell("+", group);
  }

  #tell(sign: "+" | "-", group: number): void {
    this.#shell?.stdin?.write(`${sign} ${group}\n`);
  }
}

/** Kills a process group. @returns the system's error code if processes survive, for example those of another user (`sudo`) */
export function endGroup(pid: number): string | undefined {
  try {
    process.kill(-pid, "SIGKILL");
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ESRCH: the group has ended already.
    return code === "ESRCH" ? undefined : (code ?? "an error");
  }
}
