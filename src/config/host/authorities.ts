/** The certificates of authorities that this system trusts. */
import { readFileSync } from "node:fs";

/** Where systems keep the certificates of authorities, as Salt looks for them. */
const systemBundles = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/pki/tls/certs/ca-bundle.trust.crt",
  "/etc/ssl/certs/ca-bundle.crt",
  "/var/lib/ca-certificates/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/**
 * The certificates in a file, or in the first file of the system that can be read; undefined without one.
 *
 * @throws Error of the file system for `bundle`
 */
export function certificateAuthorities(bundle: string | undefined): Buffer | undefined {
  for (const path of bundle === undefined ? systemBundles : [bundle]) {
    try {
      return readFileSync(path);
    } catch (error) {
      if (bundle !== undefined) throw error;
    }
  }
  return undefined;
}
