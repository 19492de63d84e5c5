package kurier.interop;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

import org.apache.wss4j.dom.str.STRParser.REFERENCE_TYPE;
import org.w3c.dom.Node;

import com.helger.collection.commons.ICommonsList;
import com.helger.http.EHttpMethod;
import com.helger.http.header.HttpHeaderMap;
import com.helger.json.JsonObject;
import com.helger.peppol.sbdh.PeppolSBDHData;
import com.helger.peppol.sbdh.PeppolSBDHDataReadException;
import com.helger.peppol.sbdh.PeppolSBDHDataReader;
import com.helger.peppolid.factory.PeppolIdentifierFactory;
import com.helger.phase4.attachment.AS4DecompressException;
import com.helger.phase4.attachment.WSS4JAttachment;
import com.helger.phase4.config.AS4Configuration;
import com.helger.phase4.ebms3header.Ebms3Property;
import com.helger.phase4.ebms3header.Ebms3SignalMessage;
import com.helger.phase4.ebms3header.Ebms3UserMessage;
import com.helger.phase4.error.AS4ErrorList;
import com.helger.phase4.incoming.AS4RequestHandler;
import com.helger.phase4.incoming.IAS4IncomingMessageMetadata;
import com.helger.phase4.incoming.IAS4IncomingMessageState;
import com.helger.phase4.incoming.spi.AS4MessageProcessorResult;
import com.helger.phase4.incoming.spi.AS4SignalMessageProcessorResult;
import com.helger.phase4.incoming.spi.IAS4IncomingMessageProcessorSPI;
import com.helger.phase4.model.error.EEbmsError;
import com.helger.phase4.model.pmode.IPMode;
import com.helger.phase4.servlet.AS4UnifiedResponse;
import com.helger.phase4.servlet.AS4XServletHandler;
import com.helger.phase4.servlet.IAS4ServletRequestHandlerCustomizer;
import com.helger.web.scope.IRequestWebScopeWithoutResponse;
import com.helger.xservlet.AbstractXServlet;

/**
 * What stands behind phase4's AS4 layer when it receives. Signature, decryption, duplicate check, header rules of the Peppol
 * profile and receipts are phase4's; the standard business document is read by peppol-commons. The comparison of header
 * and document and the demand for a binary security token are ours: phase4 has them in phase4-peppol-servlet, which is
 * not published for this version.
 */
public final class Receiver implements IAS4IncomingMessageProcessorSPI
{
  /** C3: phase4's servlet with our keys. */
  static AbstractXServlet servlet (final Keys keys)
  {
    return new As4 (keys);
  }

  @Override
  public AS4MessageProcessorResult processAS4UserMessage (final IAS4IncomingMessageMetadata metadata,
                                                          final HttpHeaderMap headers,
                                                          final Ebms3UserMessage message,
                                                          final IPMode pmode,
                                                          final Node payload,
                                                          final ICommonsList <WSS4JAttachment> attachments,
                                                          final IAS4IncomingMessageState state,
                                                          final AS4ErrorList errors)
  {
    final Refusal refusal = (error, detail) -> {
      errors.add (error.errorBuilder (Locale.US).refToMessageInError (state.getMessageID ()).errorDetail (detail).build ());
      return AS4MessageProcessorResult.createFailure ();
    };
    if (!state.isSoapDecrypted () || !state.isSoapSignatureChecked ())
      return refusal.of (EEbmsError.EBMS_POLICY_NONCOMPLIANCE, "not signed and encrypted");
    if (state.getSigningCertificateReferenceType () != REFERENCE_TYPE.DIRECT_REF ||
        state.getDecryptingCertificateReferenceType () != REFERENCE_TYPE.DIRECT_REF)
      return refusal.of (EEbmsError.EBMS_POLICY_NONCOMPLIANCE, "a certificate is not given as a binary security token");
    if (attachments == null || attachments.size () != 1)
      return refusal.of (EEbmsError.EBMS_OTHER, "exactly one payload is expected");

    final File file = new File (new File (AS4Configuration.getDataPath ()), "payload-" + UUID.randomUUID () + ".xml");
    try (InputStream in = attachments.getFirstOrNull ().getSourceStream ())
    {
      Files.copy (in, file.toPath (), StandardCopyOption.REPLACE_EXISTING);
    }
    catch (final IOException | AS4DecompressException ex)
    {
      return refusal.of (EEbmsError.EBMS_DECOMPRESSION_FAILURE, "the payload cannot be decompressed");
    }
    return take (message, file, refusal);
  }

  private static AS4MessageProcessorResult take (final Ebms3UserMessage message, final File file, final Refusal refusal)
  {
    final PeppolSBDHData document;
    try (InputStream in = Files.newInputStream (file.toPath ()))
    {
      document = new PeppolSBDHDataReader (PeppolIdentifierFactory.INSTANCE).setPerformValueChecks (true).setCheckForCountryC1 (true).extractData (in);
    }
    catch (final IOException | PeppolSBDHDataReadException ex)
    {
      return refusal.of (EEbmsError.EBMS_OTHER, "standard business document: " + ex.getMessage ());
    }
    final Map <String, String> properties = new TreeMap <> ();
    if (message.getMessageProperties () != null)
      for (final Ebms3Property property : message.getMessageProperties ().getProperty ())
        properties.put (property.getName (), property.getType () + "::" + property.getValue ());
    if (!document.getSenderURIEncoded ().equals (properties.get ("originalSender")) || !document.getReceiverURIEncoded ().equals (properties.get ("finalRecipient")))
      return refusal.of (EEbmsError.EBMS_OTHER, "header and standard business document differ");
    if (Inbox.NOT_SERVED.equals (document.getReceiverValue ()))
      return refusal.of (EEbmsError.EBMS_OTHER, "PEPPOL:NOT_SERVICED");
    try
    {
      Inbox.add (new JsonObject ().add ("messageId", message.getMessageInfo ().getMessageId ())
                                  .add ("instanceId", document.getInstanceIdentifier ())
                                  .add ("sender", document.getSenderURIEncoded ())
                                  .add ("receiver", document.getReceiverURIEncoded ())
                                  .add ("doctype", document.getDocumentTypeValue ())
                                  .add ("countryC1", document.getCountryC1 ())
                                  .add ("file", file.getAbsolutePath ()));
    }
    catch (final IllegalStateException ex)
    {
      return refusal.of (EEbmsError.EBMS_OTHER, "the document cannot be processed");
    }
    return AS4MessageProcessorResult.createSuccess ();
  }

  @Override
  public AS4SignalMessageProcessorResult processAS4SignalMessage (final IAS4IncomingMessageMetadata metadata,
                                                                  final HttpHeaderMap headers,
                                                                  final Ebms3SignalMessage message,
                                                                  final IPMode pmode,
                                                                  final IAS4IncomingMessageState state,
                                                                  final AS4ErrorList errors)
  {
    return AS4SignalMessageProcessorResult.createSuccess ();
  }

  @Override
  public void processAS4ResponseMessage (final IAS4IncomingMessageMetadata metadata,
                                         final IAS4IncomingMessageState state,
                                         final String responseMessageId,
                                         final byte [] response,
                                         final boolean available,
                                         final AS4ErrorList errors)
  {}

  private static final class As4 extends AbstractXServlet
  {
    private static final long serialVersionUID = 1L;

    As4 (final Keys keys)
    {
      settings ().setMultipartEnabled (false);
      final AS4XServletHandler handler = new AS4XServletHandler ();
      handler.setRequestHandlerCustomizer (new IAS4ServletRequestHandlerCustomizer ()
      {
        @Override
        public void customizeBeforeHandling (final IRequestWebScopeWithoutResponse scope, final AS4UnifiedResponse response, final AS4RequestHandler request)
        {
          request.setCryptoFactory (keys.crypto);
        }

        @Override
        public void customizeAfterHandling (final IRequestWebScopeWithoutResponse scope, final AS4UnifiedResponse response, final AS4RequestHandler request)
        {}
      });
      handlerRegistry ().registerHandler (EHttpMethod.POST, handler);
    }
  }

  private interface Refusal
  {
    AS4MessageProcessorResult of (EEbmsError error, String detail);
  }
}
