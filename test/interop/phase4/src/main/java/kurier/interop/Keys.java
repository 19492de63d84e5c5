package kurier.interop;

import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Base64;

import com.helger.phase4.crypto.AS4CryptoFactoryInMemoryKeyStore;
import com.helger.security.certificate.CertificateHelper;
import com.helger.security.certificate.TrustedCAChecker;

/** The access point's key and the private certification authorities that it trusts. */
final class Keys
{
  final AS4CryptoFactoryInMemoryKeyStore crypto;
  /** The authority of access points; WSS4J trusts whatever is below one of the trust store. */
  final TrustedCAChecker authorities;
  final X509Certificate certificate;
  final String seat;
  /** All authorities, those of metadata publishers included. */
  final KeyStore trust;

  private Keys (final AS4CryptoFactoryInMemoryKeyStore crypto, final KeyStore trust, final TrustedCAChecker authorities, final X509Certificate certificate)
  {
    this.crypto = crypto;
    this.trust = trust;
    this.authorities = authorities;
    this.certificate = certificate;
    this.seat = CertificateHelper.getSubjectCN (certificate);
  }

  static Keys load (final String keyFile, final String trustFile, final String password) throws Exception
  {
    final KeyStore keys = store (keyFile, password);
    final KeyStore trust = store (trustFile, password);
    final X509Certificate authority = (X509Certificate) trust.getCertificate ("ap");
    if (authority == null)
      throw new IllegalArgumentException ("the trust store has no entry 'ap'");
    final X509Certificate own = (X509Certificate) keys.getCertificate ("ap");
    if (own == null)
      throw new IllegalArgumentException ("the key store has no entry 'ap'");
    return new Keys (new AS4CryptoFactoryInMemoryKeyStore (keys, "ap", password.toCharArray (), trust),
                     trust,
                     new TrustedCAChecker (authority),
                     own);
  }

  private static KeyStore store (final String file, final String password) throws Exception
  {
    final KeyStore store = KeyStore.getInstance ("PKCS12");
    try (InputStream in = new FileInputStream (file))
    {
      store.load (in, password.toCharArray ());
    }
    return store;
  }

  /** @param der certificate, base64 */
  static X509Certificate certificate (final String der) throws Exception
  {
    return (X509Certificate) CertificateFactory.getInstance ("X.509").generateCertificate (new ByteArrayInputStream (Base64.getMimeDecoder ().decode (der)));
  }
}
