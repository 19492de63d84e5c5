package kurier.interop;

import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.Collections;

import com.helger.phase4.crypto.AS4CryptoFactoryInMemoryKeyStore;
import com.helger.security.certificate.TrustedCAChecker;

/** The access point's key and the private certification authorities that it trusts. */
final class Keys
{
  final AS4CryptoFactoryInMemoryKeyStore crypto;
  final TrustedCAChecker authorities;
  final String seat;

  private Keys (final AS4CryptoFactoryInMemoryKeyStore crypto, final TrustedCAChecker authorities, final String seat)
  {
    this.crypto = crypto;
    this.authorities = authorities;
    this.seat = seat;
  }

  static Keys load (final String keyFile, final String trustFile, final String password) throws Exception
  {
    final KeyStore keys = store (keyFile, password);
    final KeyStore trust = store (trustFile, password);
    final X509Certificate [] authorities = Collections.list (trust.aliases ()).stream ().map (alias -> {
      try
      {
        return (X509Certificate) trust.getCertificate (alias);
      }
      catch (final java.security.KeyStoreException ex)
      {
        throw new IllegalStateException (ex);
      }
    }).toArray (X509Certificate []::new);
    if (authorities.length == 0)
      throw new IllegalArgumentException ("the trust store is empty");
    final X509Certificate own = (X509Certificate) keys.getCertificate ("ap");
    if (own == null)
      throw new IllegalArgumentException ("the key store has no entry 'ap'");
    return new Keys (new AS4CryptoFactoryInMemoryKeyStore (keys, "ap", password.toCharArray (), trust),
                     new TrustedCAChecker (authorities),
                     com.helger.security.certificate.CertificateHelper.getSubjectCN (own));
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
