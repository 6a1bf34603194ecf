/**
 * Ends commands whose thread or master is gone, by SIGKILL, too: a shell that outlives it is told the process group of each command that runs, and kills
 * those that are left when the pipe to it closes. Nothing else tells a process on every system that its parent has died.
 */
import { type ChildProcess, spawn } from "node:child_process";

/** Signals for a whole group, as systemd sends them at a stop, must not end it before the commands. */
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

  /** To be called before a command is started: from then on the shell is there. Where no process can be started, commands go without a guard. */
  start(): void {
    if (this.#shell !== undefined) return;
    try {
      this.#spawn();
    } catch {
      // The command that follows meets the same error, and tells it.
    }
  }

  /** `group`: a command's process id, which leads a group of its own. */
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
    // One that was killed is replaced with the next command.
    shell.stdin?.on("error", forget);
    shell.unref();
    this.#shell = shell;
    for (const group of this.#groups) this.#tell("+", group);
  }

  #tell(sign: "+" | "-", group: number): void {
    this.#shell?.stdin?.write(`${sign} ${group}\n`);
  }
}

/** @returns the system's code if processes run on: those of another user, as of `sudo`, cannot be ended */
export function endGroup(pid: number): string | undefined {
  try {
    process.kill(-pid, "SIGKILL");
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // It has ended in the meantime.
    return code === "ESRCH" ? undefined : (code ?? "an error");
  }
}
