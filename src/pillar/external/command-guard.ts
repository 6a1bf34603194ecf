/**
 * Ends commands whose thread or master has died, also by SIGKILL. A shell that outlives the master gets the process group of each running
 * command, and kills the remaining groups when its pipe closes. No other way of noticing a parent's death works on every system.
 */
import { type ChildProcess, spawn } from "node:child_process";

/** Ignores signals to the whole group, as systemd sends them at a stop: the shell must outlive the commands. */
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
      // The next command meets the same error and reports it.
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
    // The next command replaces a shell that was killed.
    shell.stdin?.on("error", forget);
    shell.unref();
    this.#shell = shell;
    for (const group of this.#groups) this.#tell("+", group);
  }

  #tell(sign: "+" | "-", group: number): void {
    this.#shell?.stdin?.write(`${sign} ${group}\n`);
  }
}

/** @returns the system's error code if processes run on, such as those of another user (`sudo`) */
export function endGroup(pid: number): string | undefined {
  try {
    process.kill(-pid, "SIGKILL");
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The group has ended in the meantime.
    return code === "ESRCH" ? undefined : (code ?? "an error");
  }
}
