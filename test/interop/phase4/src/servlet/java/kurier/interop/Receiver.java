package kurier.interop;

import java.io.File;
import java.nio.file.Files;
import java.util.UUID;

import org.unece.cefact.namespaces.sbdh.StandardBusinessDocument;

import com.helger.http.header.HttpHeaderMap;
import com.helger.json.JsonObject;
import com.helger.peppol.sbdh.PeppolSBDHData;
import com.helger.phase4.config.AS4Configuration;
import com.helger.phase4.ebms3header.Ebms3UserMessage;
import com.helger.phase4.error.AS4ErrorList;
import com.helger.phase4.incoming.AS4RequestHandler;
import com.helger.phase4.incoming.IAS4IncomingMessageMetadata;
import com.helger.phase4.incoming.IAS4IncomingMessageState;
import com.helger.phase4.peppol.servlet.IPhase4PeppolIncomingSBDHandlerSPI;
import com.helger.phase4.peppol.servlet.Phase4PeppolAS4Servlet;
import com.helger.phase4.peppol.servlet.Phase4PeppolDefaultReceiverConfiguration;
import com.helger.phase4.servlet.AS4UnifiedResponse;
import com.helger.web.scope.IRequestWebScopeWithoutResponse;
import com.helger.xservlet.AbstractXServlet;

/**
 * The end of phase4's Peppol receiver: what it hands over is kept. Every refusal is phase4's own, from the signer's authority
 * and the kind of token to the comparison of header and document and the question whether the recipient is served.
 */
public final class Receiver implements IPhase4PeppolIncomingSBDHandlerSPI
{
  /** C3: phase4's Peppol servlet with our keys, and a registry that says whom it serves. */
  static AbstractXServlet servlet (final Keys keys)
  {
    Phase4PeppolDefaultReceiverConfiguration.setAPCAChecker (keys.authorities);
    Phase4PeppolDefaultReceiverConfiguration.setReceiverCheckEnabled (true);
    Phase4PeppolDefaultReceiverConfiguration.setSMPClient (new Registry (keys));
    Phase4PeppolDefaultReceiverConfiguration.setAS4EndpointURL (Registry.URL);
    Phase4PeppolDefaultReceiverConfiguration.setAPCertificate (keys.certificate);
    return new As4 (keys);
  }

  @Override
  public void handleIncomingSBD (final IAS4IncomingMessageMetadata metadata,
                                 final HttpHeaderMap headers,
                                 final Ebms3UserMessage message,
                                 final byte [] bytes,
                                 final StandardBusinessDocument document,
                                 final PeppolSBDHData data,
                                 final IAS4IncomingMessageState state,
                                 final AS4ErrorList errors) throws Exception
  {
    final File file = new File (AS4Configuration.getDataPath (), "payload-" + UUID.randomUUID () + ".xml");
    Files.write (file.toPath (), bytes);
    Inbox.add (new JsonObject ().add ("messageId", message.getMessageInfo ().getMessageId ())
                                .add ("instanceId", data.getInstanceIdentifier ())
                                .add ("sender", data.getSenderURIEncoded ())
                                .add ("receiver", data.getReceiverURIEncoded ())
                                .add ("doctype", data.getDocumentTypeValue ())
                                .add ("countryC1", data.getCountryC1 ())
                                .add ("file", file.getAbsolutePath ()));
  }

  @Override
  public void processAS4ResponseMessage (final IAS4IncomingMessageMetadata metadata,
                                         final IAS4IncomingMessageState state,
                                         final String responseMessageId,
                                         final byte [] response,
                                         final boolean available,
                                         final AS4ErrorList errors)
  {}

  private static final class As4 extends Phase4PeppolAS4Servlet
  {
    private static final long serialVersionUID = 1L;

    As4 (final Keys keys)
    {
      super (new Phase4PeppolServletRequestHandlerCustomizer ()
      {
        @Override
        public void customizeBeforeHandling (final IRequestWebScopeWithoutResponse scope, final AS4UnifiedResponse response, final AS4RequestHandler request)
        {
          super.customizeBeforeHandling (scope, response, request);
          request.setCryptoFactory (keys.crypto);
        }
      });
    }
  }
}
