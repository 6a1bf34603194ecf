/** Checks an operator's own NATS servers before a member uses them, and names what does not fit. */
import { JetStreamApiError } from "@nats-io/jetstream";
import {
  AuthorizationError,
  type NatsConnection,
  type ServerInfo,
  UserAuthenticationExpiredError,
} from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { SaltworksError } from "../../errors.ts";
import { clusterStatusWaitMs, natsMessageBytesMax } from "../../limits.ts";
import { type SecretBox, secretBoxWith } from "../../store/secrets/sealed.ts";
import { type ClusterConnection, connectOptions, type OperatorAccess, openedOn, retried } from "../connection.ts";
import { clusterNames } from "../names.ts";
import type { NatsCredentials, OperatorNats } from "../operator-nats.ts";
import { openIdentity } from "../secrets/identity.ts";
import { isNewEnough, versionMin } from "../server/version.ts";
import { isStreamMissing } from "../stream-identity.ts";

export type OperatorCheck = {
  readonly access: OperatorAccess;
  readonly clusterId: string;
  /** Shown in the servers' lists of connections. */
  readonly name: string;
};

/**
 * `isReached` false: no server can be asked now, and nothing is known. `giver`: the member that gave the cluster's key pair, which opens with this member's
 * secret; undefined for a cluster that has not begun. `silent`: servers that cannot be reached, with the reason.
 */
export type OperatorChecked = { readonly silent: readonly string[] } & (
  | { readonly isReached: false }
  | { readonly isReached: true; readonly giver: string | undefined }
);

type Reached = { readonly server: string; readonly nats: NatsConnection };
type Unreached = { readonly server: string; readonly why: string };

/**
 * @throws SaltworksError CLUSTER_REFUSED for what does not change by itself: refused credentials, certificates, an old server, a small `max_payload`, a
 * server that runs alone, an account without JetStream, another secret. CONFIG_INVALID for a file that does not hold credentials
 */
export async function checkOperatorNats(check: OperatorCheck): Promise<OperatorChecked> {
  const { operatorNats } = check.access;
  demandUsable(check);
  const answers = await Promise.all(operatorNats.servers.map((server) => reach(check, server)));
  const reached = answers.flatMap((one) => ("nats" in one ? [one] : []));
  const silent = answers.flatMap((one) => ("why" in one ? [`${one.server}: ${one.why}`] : []));
  try {
    // A refusal of one is a fault of the configuration, also if another one takes this member.
    const fault = answers.find((one) => one instanceof SaltworksError);
    if (fault instanceof SaltworksError) throw fault;
    for (const one of reached) demandFitting(one);
    const [first] = reached;
    if (first === undefined) return { isReached: false, silent };
    return { isReached: true, silent, giver: await askRecords(check, first) };
  } finally {
    await Promise.all(reached.map(({ nats }) => nats.close()));
  }
}

/** @throws SaltworksError CONFIG_INVALID for a file with something else than it should have */
function demandUsable({ access, name }: OperatorCheck): void {
  const { credentials } = access.operatorNats;
  try {
    for (const authenticator of [connectOptions(access, name).authenticator ?? []].flat()) authenticator("nonce");
  } catch (cause) {
    if (credentials.kind === "none") throw cause;
    // The reason may show what is in the file.
    const why = `${optionOf(credentials)}: ${credentials.file} does not hold ${formOf(credentials)}`;
    throw new SaltworksError("CONFIG_INVALID", why);
  }
}

const optionOf = ({ kind }: NatsCredentials) =>
  ({
    none: "cluster_nats_credentials, cluster_nats_nkey_file or cluster_nats_user",
    creds: "cluster_nats_credentials",
    nkey: "cluster_nats_nkey_file",
    password: "cluster_nats_user and cluster_nats_password_file",
  })[kind];

function formOf({ kind }: NatsCredentials): string {
  return kind === "creds" ? "the credentials of a user, a JWT and a seed" : "what it should";
}

async function reach({ access, name }: OperatorCheck, server: string): Promise<Reached | Unreached | SaltworksError> {
  try {
    const options = connectOptions(access, `${name} check`);
    const nats = await connect({ ...options, servers: [server], reconnect: false, timeout: clusterStatusWaitMs });
    return { server, nats };
  } catch (error) {
    const refusal = refusalOf(access.operatorNats, error);
    return refusal === undefined
      ? { server, why: error instanceof Error ? error.message : String(error) }
      : refused(server, refusal, error);
  }
}

function refused(server: string, why: string, cause?: unknown): SaltworksError {
  return new SaltworksError("CLUSTER_REFUSED", `the NATS server ${server} ${why}`, { server }, { cause });
}

/** What OpenSSL says of a certificate that the client does not trust. */
const untrustedCodes =
  /^(?:UNABLE_TO_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|INVALID_CA)/;
/** What the server says of the client's. */
const alertCodes = /^ERR_SSL_(?:TLSV1|TLSV13|SSLV3)_ALERT_.*(?:CERTIFICATE|UNKNOWN_CA)/;

/** @returns undefined for what may change by itself */
function refusalOf({ credentials }: OperatorNats, error: unknown): string | undefined {
  if (error instanceof AuthorizationError)
    return `refuses this member's credentials: look at ${optionOf(credentials)} (${error.message})`;
  if (error instanceof UserAuthenticationExpiredError)
    return `says that this member's credentials have expired: look at ${optionOf(credentials)}`;
  if (!(error instanceof Error)) return undefined;
  if (error.message === "server does not support 'tls'")
    return "offers no TLS, and tls:// in cluster_nats_servers or a cluster_nats_tls_ option demands it";
  const codes = [error, error.cause].map((one) => String((one as { readonly code?: unknown } | undefined)?.code));
  if (codes.some((code) => untrustedCodes.test(code)))
    return `has a certificate that is not trusted: look at cluster_nats_tls_ca (${error.message})`;
  if (codes.some((code) => alertCodes.test(code)))
    return `does not take this member's certificate: look at cluster_nats_tls_cert (${error.message})`;
  return undefined;
}

/** @throws SaltworksError CLUSTER_REFUSED */
function demandFitting({ server, nats }: Reached): void {
  const { version, max_payload: bytesMax, cluster } = nats.info as ServerInfo;
  if (!isNewEnough(version)) throw refused(server, `is of version ${version}, and ${versionMin} or newer is needed`);
  if (bytesMax < natsMessageBytesMax)
    throw refused(server, `takes messages of ${bytesMax} bytes: max_payload must be ${natsMessageBytesMax} at least`);
  if (cluster === undefined)
    throw refused(server, "runs alone: three copies of each record need a cluster of three servers");
}

/** @throws SaltworksError CLUSTER_REFUSED; CLUSTER_UNAVAILABLE if JetStream has no leader */
async function askRecords(
  { access, clusterId }: OperatorCheck,
  { server, nats }: Reached,
): Promise<string | undefined> {
  const connection = await openedOn(nats);
  const box = secretBoxWith(access.sealKey);
  try {
    return await retried(`JetStream of the NATS server ${server}`, clusterStatusWaitMs, () =>
      giverOf(connection, clusterId, box),
    );
  } catch (error) {
    // Without JetStream in the account nothing listens on its subjects. Without a leader something does, and does not answer.
    if (isWithoutJetStream((error as Error).cause))
      throw refused(
        server,
        "has no JetStream for this member's account: enable it for the account, and on three servers",
        error,
      );
    throw error;
  }
}

async function giverOf(
  { manager, kvm }: Pick<ClusterConnection, "manager" | "kvm">,
  clusterId: string,
  box: SecretBox,
): Promise<string | undefined> {
  await manager.getAccountInfo();
  const { secretBucket } = clusterNames(clusterId);
  try {
    await manager.streams.info(`KV_${secretBucket}`);
  } catch (error) {
    if (isStreamMissing(error)) return undefined;
    throw error;
  }
  return (await openIdentity(await kvm.open(secretBucket), box))?.by;
}

const notEnabledForAccount = 10_039;
const notEnabled = 10_076;

function isWithoutJetStream(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return [notEnabledForAccount, notEnabled].includes(error.code);
  return error instanceof Error && (error.name === "JetStreamNotEnabled" || error.name === "NoRespondersError");
}
