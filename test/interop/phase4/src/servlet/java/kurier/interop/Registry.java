package kurier.interop;

import java.io.StringReader;
import java.util.Base64;
import java.util.List;

import javax.xml.transform.stream.StreamSource;

import com.helger.peppol.smp.ESMPTransportProfile;
import com.helger.peppolid.IDocumentTypeIdentifier;
import com.helger.peppolid.IParticipantIdentifier;
import com.helger.peppolid.factory.PeppolIdentifierFactory;
import com.helger.peppolid.simple.process.SimpleProcessIdentifier;
import com.helger.smpclient.peppol.ISMPExtendedServiceMetadataProvider;
import com.helger.smpclient.redirect.ISMPFollowRedirectCallback;
import com.helger.xsds.peppol.smp1.EndpointType;
import com.helger.xsds.peppol.smp1.ProcessListType;
import com.helger.xsds.peppol.smp1.ProcessType;
import com.helger.xsds.peppol.smp1.ServiceEndpointList;
import com.helger.xsds.peppol.smp1.ServiceInformationType;
import com.helger.xsds.peppol.smp1.ServiceMetadataType;
import com.helger.xsds.peppol.smp1.SignedServiceMetadataType;

import jakarta.xml.ws.wsaddressing.W3CEndpointReference;

/** In the place of an SMP: all participants but one are served here, for all document types but one. */
final class Registry implements ISMPExtendedServiceMetadataProvider
{
  /** The access point's address as the network knows it; nobody opens it. */
  static final String URL = "http://phase4.interop/as4";
  private static final String REFERENCE = "<EndpointReference xmlns='http://www.w3.org/2005/08/addressing'><Address>" + URL + "</Address></EndpointReference>";
  private static final String NOT_SERVED_TYPE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:example:not-served::2.1";
  private static final List <String> PROCESSES = List.of ("urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
                                                          "urn:peppol:edec:mls",
                                                          "urn:fdc:peppol.eu:poacc:bis:invoice_response:3");
  private final String certificate;

  Registry (final Keys keys)
  {
    try
    {
      this.certificate = Base64.getMimeEncoder ().encodeToString (keys.certificate.getEncoded ());
    }
    catch (final java.security.cert.CertificateEncodingException ex)
    {
      throw new IllegalStateException (ex);
    }
  }

  @Override
  public SignedServiceMetadataType getSchemeSpecificServiceMetadataOrNull (final IParticipantIdentifier participant, final IDocumentTypeIdentifier type)
  {
    if (Inbox.NOT_SERVED.equals (participant.getValue ()) || NOT_SERVED_TYPE.equals (type.getValue ()))
      return null;
    final ProcessListType processes = new ProcessListType ();
    PROCESSES.forEach (process -> processes.addProcess (process (process)));
    final ServiceInformationType information = new ServiceInformationType ();
    information.setProcessList (processes);
    final ServiceMetadataType metadata = new ServiceMetadataType ();
    metadata.setServiceInformation (information);
    final SignedServiceMetadataType signed = new SignedServiceMetadataType ();
    signed.setServiceMetadata (metadata);
    return signed;
  }

  private ProcessType process (final String id)
  {
    final EndpointType endpoint = new EndpointType ();
    endpoint.setTransportProfile (ESMPTransportProfile.TRANSPORT_PROFILE_PEPPOL_AS4_V2.getID ());
    endpoint.setEndpointReference (new W3CEndpointReference (new StreamSource (new StringReader (REFERENCE))));
    endpoint.setCertificate (certificate);
    final ServiceEndpointList endpoints = new ServiceEndpointList ();
    endpoints.addEndpoint (endpoint);
    final ProcessType process = new ProcessType ();
    process.setProcessIdentifier (new SimpleProcessIdentifier (PeppolIdentifierFactory.INSTANCE.createProcessIdentifierWithDefaultScheme (id)));
    process.setServiceEndpointList (endpoints);
    return process;
  }

  @Override
  public SignedServiceMetadataType getServiceMetadata (final IParticipantIdentifier participant, final IDocumentTypeIdentifier type, final ISMPFollowRedirectCallback redirects)
  {
    throw new UnsupportedOperationException ();
  }

  @Override
  public SignedServiceMetadataType getServiceMetadataOrNull (final IParticipantIdentifier participant, final IDocumentTypeIdentifier type, final ISMPFollowRedirectCallback redirects)
  {
    return getSchemeSpecificServiceMetadataOrNull (participant, type);
  }
}
