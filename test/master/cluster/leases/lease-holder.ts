/** A member's lease for tests, which the test gives and takes, and the bucket of a real server. */
import type { Logger } from "pino";
import { LeaseBucket } from "../../../../src/cluster/leases/bucket.ts";
import type { MemberLeases } from "../../../../src/cluster/leases/member-leases.ts";
import type { LeaseKey, Owner } from "../../../../src/cluster/leases/record.ts";
import type { SecretBox } from "../../../../src/store/secrets/sealed.ts";
import type { NatsServer } from "../../../cluster/nats.ts";

/** The test may let two members believe to be the owner. */
export class Holder {
  readonly self: Owner;
  holds = true;
  readonly lapsed = new Set<string>();

  constructor(member: string, session = 1) {
    this.self = { member, session: `${member}-${session}` };
  }

  get asLeases(): MemberLeases {
    return this as unknown as MemberLeases;
  }

  hasLapsed({ member }: Owner): boolean {
    return this.lapsed.has(member);
  }
}

type Take = (key: LeaseKey, revision: number, value: Uint8Array | undefined) => void;

export async function openBucket(
  server: NatsServer,
  bucket: string,
  { box, logger, take }: { readonly box: SecretBox; readonly logger: Logger; readonly take: Take },
): Promise<LeaseBucket> {
  const clients = await server.connect();
  const opened = await LeaseBucket.open({
    ...{ clients, bucket, replicas: 1, box, logger },
    onEntry: take,
    onLost: (error) => {
      throw error;
    },
  });
  await opened.watch();
  return opened;
}
