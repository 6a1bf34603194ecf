/** Asks a server of a cluster, by TLS alone, whether it has the same secret. Sources: NATS routes begin with TLS; RFC 5280 section 6. */
import { connect } from "node:tls";
import { clusterProbeMs } from "../../limits.ts";
import type { ClusterKeys } from "../secret.ts";
import { accessTo } from "../server/access.ts";

/** `unreachable`: nothing can be said. `same`: its certificate is of the authority that this secret makes. */
export type Probed = { readonly peer: string } & (
  | { readonly state: "same" | "other" }
  | { readonly state: "unreachable"; readonly why: string }
);

/** What OpenSSL says of a certificate that another authority has signed. */
const otherAuthority: ReadonlySet<unknown> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_GET_ISSUER_CERT",
  "CERT_SIGNATURE_FAILURE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
]);

/** @param peer `HOST:PORT` of its pool port */
export function probePeer(peer: string, keys: ClusterKeys, name: string): Promise<Probed> {
  const at = peer.lastIndexOf(":");
  const host = peer.slice(0, at).replace(/^\[|\]$/g, "");
  const { authority, certificate, key } = accessTo([], keys, "client", name);
  return new Promise((resolve) => {
    const socket = connect({
      ...{ host, port: Number(peer.slice(at + 1)), ca: authority, cert: certificate, key },
      // The secret allows any name.
      checkServerIdentity: () => undefined,
    });
    const end = (probed: Probed) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(probed);
    };
    const timer = setTimeout(() => end({ peer, state: "unreachable", why: "no answer" }), clusterProbeMs);
    socket.once("secureConnect", () => end({ peer, state: "same" }));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      end(
        otherAuthority.has(error.code)
          ? { peer, state: "other" }
          : { peer, state: "unreachable", why: error.code ?? error.message },
      ),
    );
  });
}
