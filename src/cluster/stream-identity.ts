/** Which stream of NATS it is: one of the same name that was made anew is another. Pure. */
import type { StreamInfo } from "@nats-io/jetstream";

export function identityOf({ config, created }: StreamInfo): string {
  return `${config.name} ${created}`;
}
