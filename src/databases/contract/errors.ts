/** What an operator is told of a database's error whose own message may quote a row. */

export function unshown(code: string): string {
  return `error ${code}, whose message is not shown because it may quote a row`;
}
