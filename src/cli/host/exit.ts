/** Ends a command early, from any depth of calls. */

/** Shells report this code for a program that Ctrl-C ended. */
export const interruptedExitCode = 130;

/** Ends a command with this code. Throw it only after everything that the user should read has been written. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}
