/** A line of a program that runs for hours, with its time. */
export function tell(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}
